"""The smallest case that still fails in the same way."""

from __future__ import annotations

from checker.course import PUZZLES
from checker.judge.launches import prepare
from checker.judge.outcome import Candidate
from checker.judge.smallest_case import MOST_RUNS, smallest_case
from checker.puzzle import NORMAL
from tests.judge.helpers import changed, solution

ROW = PUZZLES["row_softmax"]
FAILS = {
    "always wrong": ("row_softmax", "p / l_i", "p + l_i", {"M": 1, "N": 1}),
    "second row wrong": ("row_softmax", "p / l_i,", "p / l_i + tl.where(row > 0, 0.5, 0.0),", {"M": 2, "N": 1}),
    "third column wrong": ("row_softmax", "p / l_i,", "p / l_i + tl.where(offs_n == 2, 0.5, 0.0),", {"M": 1, "N": 3}),
    "second tile wrong": ("vector_add", "x + y,", "x + y + tl.where(pid > 0, 0.5, 0.0),", {"N": 3}),
}


def test_a_case_shrinks_to_the_smallest_that_fails_and_the_solution_passes(runner):
    for failure, (name, old, new, sizes) in FAILS.items():
        puzzle, source = PUZZLES[name], changed(solution(name), old, new)
        case = next(c for c in puzzle.cases if min(c.sizes.values()) > 2 and c.family == NORMAL)
        runner.simulated = 0
        smallest = smallest_case(Candidate(puzzle, source, runner), prepare(puzzle, case), lambda o: not o.right)
        assert dict(smallest.sizes) == sizes, failure
        assert runner.simulated <= MOST_RUNS
        assert all(value & (value - 1) == 0 for value in smallest.meta.values())
        for kernel, right in ((source, False), (solution(name), True)):
            (outcome,) = Candidate(puzzle, kernel, runner).simulate([prepare(puzzle, smallest)])
            assert outcome.right is right


def test_a_case_stays_if_nothing_smaller_fails(runner):
    case = ROW.cases[0]
    smallest = smallest_case(Candidate(ROW, solution("row_softmax"), runner), prepare(ROW, case), lambda o: False)
    assert smallest == case
    assert runner.simulated <= MOST_RUNS


def test_a_row_does_not_outgrow_the_tile_that_holds_it(runner):
    source = changed(solution("row_softmax"), "p / l_i,", "p / l_i + tl.where(row > 1, 0.5, 0.0),")
    case = next(case for case in ROW.cases if case.meta["BLOCK_N"] == 1 and case.sizes["M"] == 3)
    smallest = smallest_case(Candidate(ROW, source, runner), prepare(ROW, case), lambda o: not o.right)
    assert dict(smallest.sizes) == {"M": 3, "N": 1}
