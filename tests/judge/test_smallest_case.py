"""The smallest case that still fails: small, still failing, and still a case of the puzzle."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.course import PUZZLES
from checker.judge.launches import prepare
from checker.judge.outcome import simulate
from checker.judge.smallest_case import MOST_RUNS, smallest_case
from tests.judge.helpers import changed, solution

ROW, ADD = PUZZLES["row_softmax"], PUZZLES["vector_add"]
FAILS = {
    "always wrong": ("row_softmax", "p / l_i", "p + l_i", {"M": 1, "N": 1}),
    "second row wrong": ("row_softmax", "p / l_i,", "p / l_i + tl.where(row > 0, 0.5, 0.0),", {"M": 2, "N": 1}),
    "third column wrong": ("row_softmax", "p / l_i,", "p / l_i + tl.where(offs_n == 2, 0.5, 0.0),", {"M": 1, "N": 3}),
    "second tile wrong": ("vector_add", "x + y,", "x + y + tl.where(pid > 0, 0.5, 0.0),", {"N": 5}),
}


@pytest.mark.parametrize("mistake", FAILS.values(), ids=FAILS)
def test_shrinks_to_the_smallest(mistake, runner):
    name, old, new, sizes = mistake
    puzzle, source = PUZZLES[name], changed(solution(name), old, new)
    case = next(c for c in puzzle.cases if min(c.sizes.values()) > 2 and c.family == "normal")
    found = smallest_case(puzzle, source, runner, prepare(puzzle, case), lambda o: not o.right)
    assert dict(found.sizes) == sizes
    assert runner.simulated <= MOST_RUNS
    (outcome,) = simulate(puzzle, source, runner, [prepare(puzzle, found)])
    assert not outcome.right


@pytest.mark.parametrize("mistake", FAILS.values(), ids=FAILS)
def test_the_solution_is_right_on_what_is_found(mistake, runner):
    name, old, new, _ = mistake
    puzzle = PUZZLES[name]
    case = next(c for c in puzzle.cases if min(c.sizes.values()) > 2 and c.family == "normal")
    found = smallest_case(
        puzzle, changed(solution(name), old, new), runner, prepare(puzzle, case), lambda o: not o.right
    )
    (outcome,) = simulate(puzzle, solution(name), runner, [prepare(puzzle, found)])
    assert outcome.right
    assert all(value & (value - 1) == 0 for value in found.meta.values())


def test_what_nothing_smaller_fails_stays(runner):
    case = ROW.cases[0]
    found = smallest_case(ROW, solution("row_softmax"), runner, prepare(ROW, case), lambda o: False)
    assert found == case
    assert runner.simulated <= MOST_RUNS


def test_a_case_the_puzzle_cannot_make_is_left_out(runner):
    case = max((c for c in ROW.cases if "cpu" in c.devices), key=lambda c: c.sizes["N"])

    def make(wanted):
        if wanted.sizes["N"] < 5:
            raise ValueError("too small")
        return ROW.make(wanted)

    found = smallest_case(replace(ROW, make=make), solution("row_softmax"), runner, prepare(ROW, case), lambda o: True)
    assert found.sizes["N"] >= 5
