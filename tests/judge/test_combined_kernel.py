"""The bank's kernels as one kernel, and what is remembered of them."""

from __future__ import annotations

import torch

from checker.course import PUZZLES
from checker.judge import combined_kernel
from checker.judge.combined_kernel import behaviours
from checker.judge.launches import prepare
from checker.misconceptions import bank


def test_verdicts_side_by_side_do_not_take_each_others_runs(runner, monkeypatch):
    """Two threads that judge kernels of one puzzle ask for the same runs at the same time."""
    puzzle = PUZZLES["vector_add"]
    prepared = prepare(puzzle, puzzle.cases[0])
    tasks = [(wrong, prepared) for wrong in bank("vector_add")]
    monkeypatch.setattr(combined_kernel, "_REMEMBERED", {})
    alone = list(behaviours(puzzle, runner, tasks))
    monkeypatch.setattr(combined_kernel, "_REMEMBERED", {})
    first, second = behaviours(puzzle, runner, tasks), behaviours(puzzle, runner, tasks)
    seen = [next(first)]
    next(second), next(second)
    seen += first
    assert len(seen) == len(alone) == len(tasks)
    for mine, theirs in zip(seen, alone, strict=True):
        assert mine.traffic == theirs.traffic
        assert mine.lanes == theirs.lanes
        torch.testing.assert_close(mine.values, theirs.values, rtol=0, atol=0, equal_nan=True)
