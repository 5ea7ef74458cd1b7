"""The bank's kernels as one kernel, and the memory of what they did."""

from __future__ import annotations

from dataclasses import replace

import torch

from checker.course import PUZZLES
from checker.judge.combined_kernel import BankRuns, bank_runs
from checker.judge.launches import prepare
from checker.misconceptions import bank
from checker.puzzle import Tolerance

RUNS = [(wrong, PUZZLES["vector_add"].cases[0]) for wrong in bank("vector_add")[:2]]


def test_two_verdicts_at_the_same_time_do_not_take_each_others_runs(runner):
    puzzle = PUZZLES["vector_add"]
    prepared = prepare(puzzle, puzzle.cases[0])
    tasks = [(wrong, prepared) for wrong in bank("vector_add")]
    alone = list(BankRuns(puzzle).behaviours(runner, tasks))
    shared = BankRuns(puzzle)
    first, second = shared.behaviours(runner, tasks), shared.behaviours(runner, tasks)
    interleaved = [next(first)]
    next(second), next(second)
    interleaved += first
    for mine, theirs in zip(interleaved, alone, strict=True):
        assert (mine.traffic, mine.lanes) == (theirs.traffic, theirs.lanes)
        torch.testing.assert_close(mine.values, theirs.values, rtol=0, atol=0, equal_nan=True)


def test_a_case_that_was_run_is_remembered_whichever_cases_a_puzzle_is_tried_on(runner):
    puzzle, tasks = PUZZLES["vector_add"], [(wrong, prepare(PUZZLES["vector_add"], case)) for wrong, case in RUNS]
    list(bank_runs(puzzle).behaviours(runner, tasks))
    before = runner.simulated
    again = replace(puzzle, cases=puzzle.cases[:1])
    list(bank_runs(again).behaviours(runner, tasks))
    assert runner.simulated == before
    stricter = replace(puzzle, tolerance={dtype: Tolerance(0.0, 0.0) for dtype in puzzle.tolerance})
    list(bank_runs(stricter).behaviours(runner, tasks))
    assert runner.simulated > before, "what counts as wrong has changed"
