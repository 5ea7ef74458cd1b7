"""Every wrong kernel is caught by its gate and diagnosed as itself; rewritten it is still diagnosed; a right one never is."""

from __future__ import annotations

import pytest

from checker.course import LADDER, PUZZLES
from checker.judge.diagnosis import find_misconception
from checker.judge.launches import plan, prepare_all
from checker.judge.outcome import simulate
from checker.misconceptions import bank
from tests.judge.helpers import changed, judge, solution, written
from tests.misconceptions.kernels import correct, rewrites, styles, unseen

ALL = [m for puzzle in LADDER for m in bank(puzzle.name)]
REWRITES = [(puzzle.name, name) for puzzle in LADDER for name in rewrites(puzzle.name)]
UNSEEN = [(puzzle.name, name) for puzzle in LADDER for name in unseen(puzzle.name)]
RIGHT_IN_VALUES = (
    "float_offsets",
    "int16_row",
    "offsets_in_32_bits",
    "barrier_between_load_and_store",
    "no_barrier_for_one_tile",
)
"""Those of them that only the last of very many programs show."""
CORRECT = [(puzzle.name, name) for puzzle in LADDER for name in correct(puzzle.name)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("misconception", ALL, ids=[f"{m.puzzle}-{m.name}" for m in ALL])
def test_caught_by_its_gate_and_diagnosed(misconception, runner):
    verdict = judge(PUZZLES[misconception.puzzle], misconception.source, runner)
    assert verdict.failure is not None, "survived"
    assert verdict.failure.gate in misconception.gates
    assert verdict.score == 0
    assert verdict.failure.message
    assert verdict.failure.advice
    assert verdict.diagnosis is not None
    assert verdict.diagnosis.misconception in (misconception.name, *misconception.same_as)
    # of offsets past 2³¹ no case is small
    assert (verdict.smallest is None) == (misconception.name == "offset_in_32_bits")


@pytest.mark.exhaustive
@pytest.mark.parametrize(("puzzle", "name"), REWRITES)
def test_a_rewritten_misconception_is_diagnosed_the_same(puzzle, name, runner):
    wanted = next(m for m in bank(puzzle) if m.name == name.rpartition("__")[0])
    verdict = judge(PUZZLES[puzzle], rewrites(puzzle)[name], runner)
    assert verdict.diagnosis is not None, verdict.failure
    assert verdict.diagnosis.misconception in (wanted.name, *wanted.same_as)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("puzzle", "name"), UNSEEN)
def test_a_kernel_that_passed_once_fails(puzzle, name, runner):
    verdict = judge(PUZZLES[puzzle], unseen(puzzle)[name], runner)
    assert verdict.failure is not None, "survived"
    assert verdict.failure.gate == ("memory" if name in RIGHT_IN_VALUES else "values")


@pytest.mark.exhaustive
@pytest.mark.parametrize(("puzzle", "name"), CORRECT)
def test_a_correct_kernel_passes_and_is_never_diagnosed(puzzle, name, runner):
    asked, source = PUZZLES[puzzle], correct(puzzle)[name]
    verdict = judge(asked, source, runner)
    assert verdict.passed, verdict.failure
    assert verdict.diagnosis is None
    cases = [case for case in asked.cases if "cpu" in case.devices]
    outcomes = list(simulate(asked, source, runner, prepare_all(asked, plan(asked, cases, ()))))
    for gate in ("values", "memory", "traffic"):
        for failing in (outcomes[0], outcomes[-1]):
            assert find_misconception(asked, source, runner, outcomes, failing, gate).misconception is None


STYLES = [(puzzle.name, name) for puzzle in LADDER for name in styles(puzzle.name)]


def test_forty_styles_of_every_family():
    families = {"softmax": "softmax", "attention": "flash_attention", "linear attention": "linear"}
    for family, part in families.items():
        names = [p.name for p in LADDER if part in p.name]
        assert sum(len(styles(name)) + len(correct(name)) for name in names) >= 40, family


@pytest.mark.exhaustive
@pytest.mark.parametrize(("puzzle", "name"), STYLES[::9])
def test_another_style_passes(puzzle, name, runner):
    verdict = judge(PUZZLES[puzzle], styles(puzzle)[name], runner)
    assert verdict.passed, verdict.failure


@pytest.mark.exhaustive
@pytest.mark.parametrize(("puzzle", "name"), STYLES)
def test_every_style_passes(puzzle, name, runner):
    test_another_style_passes(puzzle, name, runner)


UNKNOWN = {
    "twice too large": "p / l_i|2.0 * p / l_i",
    "negated": "p / l_i|-(p / l_i)",
    "reversed weights": "tl.exp(x - m_i)|tl.exp(-(tl.where(mask, x, 0.0) - m_i))",
    "square root": "tl.exp(x - m_i)|tl.sqrt(tl.exp(x - m_i))",
    "off by a constant": "p / l_i|p / l_i + 0.5",
    "first element kept apart": "mask = offs_n < N|mask = (offs_n < N) & (offs_n > 0)",
}


@pytest.mark.parametrize("change", UNKNOWN.values(), ids=UNKNOWN)
def test_a_mistake_nobody_foresaw_gets_no_name(change, runner):
    old, new = change.split("|")
    verdict = judge(PUZZLES["row_softmax"], changed(solution("row_softmax"), old, new), runner)
    assert verdict.status == "failed"
    assert verdict.diagnosis is not None
    assert verdict.diagnosis.misconception is None
    assert "no known mistake" in verdict.diagnosis.note


def test_the_learners_own_line_is_named(runner):
    source = written(
        "row_softmax",
        """
row = tl.program_id(0)
lanes = tl.arange(0, BLOCK_N)
ok = lanes < N
values = tl.load(x_ptr + row * stride_xm + lanes, mask=ok, other=0.0).to(tl.float32)
biggest = tl.max(values, axis=0)
e = tl.exp(values - biggest)
tl.store(y_ptr + row * stride_ym + lanes, e / tl.sum(e, axis=0), mask=ok)
""",
    )
    verdict = judge(PUZZLES["row_softmax"], source, runner)
    assert verdict.diagnosis is not None
    assert verdict.diagnosis.line is not None
    named = source.source.splitlines()[verdict.diagnosis.line - 1]
    assert "other=0.0" in named or "tl.sum" in named
