"""What a card says about a mistake that the bank does not have."""

from __future__ import annotations

from dataclasses import replace

from checker.course import PUZZLES
from checker.misconceptions import quick
from checker.puzzle import NORMAL
from checker.verbs import departure
from checker.view.card_content import Paragraph, Section, card_of
from tests.judge.conftest import runner  # noqa: F401
from tests.judge.helpers import changed, judge, solution


def test_an_unknown_mistake_is_placed_before_or_after_the_running_state(runner, monkeypatch):  # noqa: F811
    monkeypatch.setattr(departure, "Sandbox", type("Local", (), {"shared": staticmethod(lambda: runner)}))
    puzzle, right = PUZZLES["online_softmax"], solution("online_softmax")
    for old, new, says, todo in (
        ("tl.sum(tl.exp(x - m_safe), axis=0)", "0.9 * tl.sum(tl.exp(x - m_safe), axis=0)", "l_i should be", "chunk 1"),
        ("tl.exp(x - m_i) / l_i", "1.1 * tl.exp(x - m_i) / l_i", "m_i and l_i are right", "work backwards"),
    ):
        source = changed(right, old, new)
        verdict = departure.with_departure(judge(quick(puzzle, smallest=6), source, runner), source)
        card = card_of(verdict)
        note = next(part.text for part in card.parts if isinstance(part, Paragraph) and says in part.text)
        (advice,) = [part for part in card.parts if isinstance(part, Section)]
        assert todo in advice.sentences[0][1]
        if verdict.diagnosis.line is not None:
            assert old in right.source.splitlines()[verdict.diagnosis.line - 1]
            assert f"Line {verdict.diagnosis.line} computes it" in note


def test_a_known_mistake_needs_no_such_note(runner, monkeypatch):  # noqa: F811
    puzzle = PUZZLES["online_softmax"]
    source = changed(solution(puzzle.name), "l_i * tl.exp(m_i - m_safe)", "l_i")
    verdict = judge(quick(puzzle, smallest=6), source, runner)
    assert departure.with_departure(verdict, source) is verdict


def test_a_row_that_sees_nothing_is_not_called_right(runner, monkeypatch):  # noqa: F811
    monkeypatch.setattr(departure, "Sandbox", type("Local", (), {"shared": staticmethod(lambda: runner)}))
    puzzle = PUZZLES["flash_attention_heads"]
    sizes, flags = {"B": 1, "H_Q": 1, "H_KV": 1, "N_Q": 2, "N_KV": 1, "D": 16}, {"IS_CAUSAL": True, "RAGGED": 0}
    case = replace(puzzle.film.case, sizes=sizes, flags={**puzzle.film.case.flags, **flags}, family=NORMAL)
    source = changed(solution(puzzle.name), "offs_m[:, None] <= length - N_Q)", "offs_m[:, None] <= N_Q)")
    blind, seeing = (
        departure._departure(puzzle, source, case, puzzle.film.diagram.running, (0, 0, row)) for row in (0, 1)
    )
    assert blind is None, "query 0 sees no key, so nobody knows what its maximum should be"
    assert "m_i and l_i are right" in seeing.note


def test_a_sink_may_be_counted_before_the_loop_or_after_it(runner, monkeypatch):  # noqa: F811
    monkeypatch.setattr(departure, "Sandbox", type("Local", (), {"shared": staticmethod(lambda: runner)}))
    puzzle = PUZZLES["flash_attention_window"]
    late = changed(
        solution(puzzle.name),
        "    m_i = tl.zeros([BLOCK_M], tl.float32) + tl.load(sinks_ptr + head)\n    l_i = tl.full([BLOCK_M], 1.0, tl.float32)",
        '    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)\n    l_i = tl.zeros([BLOCK_M], tl.float32)',
    )
    store = "    l_safe = tl.where(l_i == 0.0, 1.0, l_i)"
    first = {"B": 1, "H_Q": 1, "H_KV": 1, "N_Q": 3, "WINDOW": 3, "D": 16}
    for n_kv in (3, 20):
        sizes = {**first, "N_KV": n_kv}
        case = replace(puzzle.film.case, sizes={name: sizes[name] for name in puzzle.film.case.sizes}, family=NORMAL)
        for added, says in (
            ("l_i += tl.exp(tl.load(sinks_ptr + head) - m_i)", "m_i and l_i are right"),
            ("l_i += tl.exp(tl.load(sinks_ptr + head))", "l_i of row 0, 0, 0 should be"),
        ):
            source = changed(late, store, f"    {added}\n{store}")
            found = departure._departure(puzzle, source, case, puzzle.film.diagram.running, (0, 0, 0))
            assert says in found.note, (n_kv, added)
            assert found.line is None, "the line in the loop is right"
            assert "should be" not in found.note or "the lines after it" in found.try_
