"""The bank's kernels as one kernel, and the memory of what they did."""

from __future__ import annotations

import torch

from checker.course import PUZZLES
from checker.judge.combined_kernel import BankRuns
from checker.judge.launches import prepare
from checker.misconceptions import bank


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
