"""Programs simulated together give what each gives alone, for every known kernel: a verdict must not depend on the faster way."""

from __future__ import annotations

import pytest

from checker.course import LADDER, PUZZLES
from checker.misconceptions import bank
from tests.judge.helpers import solution
from tests.misconceptions.kernels import correct
from tests.simulator.lockstep.differential import compared

CORRECT = [(puzzle.name, name) for puzzle in LADDER for name in correct(puzzle.name)]


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_a_solution(puzzle, tmp_path):
    source = solution(puzzle.name)
    difference = compared(puzzle, source, tmp_path)
    assert difference.problems == []
    # a launch of one program, alone of its shape, stays alone
    assert sum(difference.together) >= difference.clean / 2 > 0


@pytest.mark.parametrize(("puzzle", "name"), CORRECT[::8])
def test_a_right_kernel_in_another_style(puzzle, name, tmp_path):
    source = correct(puzzle)[name]
    difference = compared(PUZZLES[puzzle], source, tmp_path, every=2)
    assert difference.problems == []
    assert sum(difference.together) >= difference.clean / 2


@pytest.mark.timeout(900)
@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_every_wrong_kernel(puzzle, tmp_path):
    beside_others = clean = 0
    for known in bank(puzzle.name):
        difference = compared(puzzle, known.source, tmp_path)
        assert difference.problems == [], known.name
        beside_others += sum(difference.together)
        clean += difference.clean
    assert beside_others >= clean / 2
