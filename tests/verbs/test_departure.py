"""What a card says about a mistake that the bank does not have."""

from __future__ import annotations

from checker.course import PUZZLES
from checker.misconceptions import quick
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
