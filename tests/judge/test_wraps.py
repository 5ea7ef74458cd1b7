"""Index arithmetic that wraps around in launches too large to make fails the memory gate, which names the line."""

from __future__ import annotations

import pytest

from checker.course import LADDER, PUZZLES
from checker.judge.launches import plan, prepare_all
from checker.judge.outcome import Candidate
from checker.judge.wraps import MISCONCEPTION, diagnosis, huge_launches
from checker.misconceptions import bank, quick
from checker.sandbox import Sandbox
from tests.judge.helpers import changed, cpu_cases, judge, solution
from tests.judge.index_arithmetic import RIGHT, WRONG, source
from tests.misconceptions.kernels import unseen


@pytest.fixture(scope="module")
def huge():
    """The huge launches of a puzzle, made once."""
    made = {}

    def launches(name):
        if name not in made:
            made[name] = huge_launches(PUZZLES[name], prepare_all(PUZZLES[name], plan(cpu_cases(PUZZLES[name]), ())))
        return made[name]

    return launches


@pytest.fixture
def failed(huge, runner):
    """The result of the first huge launch that a kernel fails in, or None."""

    def first(kernel):
        candidate = Candidate(PUZZLES[kernel.puzzle], kernel, runner)
        return next(filter(None, (launch.failed(candidate) for launch in huge(kernel.puzzle))), None)

    return first


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arithmetic_is_found(name, failed):
    result = failed(source(WRONG[name]))
    assert result is not None
    assert result.line is not None
    assert result.advice


@pytest.mark.parametrize("name", RIGHT)
def test_right_arithmetic_is_not_called_wrong(name, failed):
    assert failed(source(RIGHT[name])) is None


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda puzzle: puzzle.name)
def test_the_solution_passes_and_its_launches_are_huge(puzzle, huge, failed):
    assert failed(solution(puzzle.name)) is None
    for launch in huge(puzzle.name):
        larger = launch.near.launch.larger
        assert larger.grid[0] > 2**22 or larger.grid[1] > 2**14
        strided = any(name.startswith("stride") for name in puzzle.parameters)
        assert not strided or max(larger.numbers.values()) > 2**22


def test_every_puzzle_with_strides_has_a_wrong_kernel_that_this_stops(failed):
    strided = {p.name for p in LADDER if any(name.startswith("stride") for name in p.parameters)}
    for name in strided:
        belief = next(wrong for wrong in bank(name) if wrong.name == MISCONCEPTION)
        result = failed(belief.source)
        assert result is not None, name
        assert diagnosis(Candidate(PUZZLES[name], belief.source, None), result).misconception == MISCONCEPTION, name
        assert "*" in belief.source.source.splitlines()[result.line - 1], name


def test_offsets_in_float32_are_found_that_another_hand_wrote(failed):
    assert "float" in failed(unseen("vector_add")["float_offsets"]).message


def test_a_share_in_float32_is_found_whose_quotient_is_just_above_a_whole_number(failed):
    assert "float" in failed(unseen("decode_attention_split")["share_in_float32"]).message


def test_a_wrap_that_comes_back_right_is_not_blamed_for_what_goes_wrong_later(failed):
    name, (_, exchanges) = "flash_attention_heads", RIGHT["a sum that leaves 32 bits and comes back"]
    ((old, new),) = exchanges
    assert new.startswith("cols[None, :].to(tl.int32) <= ")
    rounded = f"cols[None, :].to(tl.float32) <= ({new.partition(' <= ')[2]}).to(tl.float32)"
    result = failed(source((name, ((old, rounded),))))
    assert "float" in result.message
    assert "int32" not in result.message


def test_the_verdict_names_the_line_and_the_sizes():
    wrong = changed(solution("row_softmax"), "tl.program_id(0).to(tl.int64)", "tl.program_id(0)")
    verdict = judge(quick(PUZZLES["row_softmax"]), wrong, Sandbox.shared())
    assert (verdict.failure.gate, verdict.failure.status, verdict.score) == ("memory", "failed", 0)
    assert "which int32 cannot hold" in verdict.failure.message
    assert "Followed for " in verdict.failure.message
    assert "`.to(tl.int64)`" in verdict.failure.advice
    assert verdict.diagnosis.misconception == MISCONCEPTION
    assert verdict.diagnosis.line == verdict.failure.line
    assert "stride" in verdict.source.split("\n")[verdict.failure.line - verdict.first_line]


def test_a_type_too_narrow_for_a_row_number_is_no_missing_cast(runner):
    wrong = source(WRONG["row in 16 bits"])
    verdict = judge(quick(PUZZLES["row_softmax"]), wrong, runner)
    assert (verdict.failure.gate, verdict.failure.status) == ("memory", "failed")
    assert "which int16 cannot hold" in verdict.failure.message
    assert verdict.diagnosis.misconception is None
