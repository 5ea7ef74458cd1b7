"""The long tests beside `tests/course/test_linear_attention.py`."""

from __future__ import annotations

import pytest

from checker.course import PUZZLES
from tests.course.test_linear_attention import BOTH, ran


@pytest.mark.parametrize("name", BOTH)
def test_the_solution_moves_what_the_budget_says_and_nothing_more(name, tmp_path):
    """A budget with room in it would let a kernel pass that reads too much."""
    puzzle = PUZZLES[name]
    for case in (c for c in puzzle.cases if "cpu" in c.devices):
        trace = ran(name, case, puzzle.make(case), tmp_path)
        for tensor, allowed in puzzle.budget(case).items():
            moved = trace.traffic[tensor]
            assert (moved.loaded, moved.stored) == (allowed.loaded, allowed.stored), f"{tensor}, {case.name}"
