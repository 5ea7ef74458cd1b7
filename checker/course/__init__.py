"""What is asked: one file per puzzle, and the order of the ladder."""

from __future__ import annotations

from checker.course import row_softmax, vector_add
from checker.puzzle import Puzzle

LADDER: tuple[Puzzle, ...] = (vector_add.PUZZLE, row_softmax.PUZZLE)
"""Every puzzle, in the order it is taught."""

PUZZLES: dict[str, Puzzle] = {puzzle.name: puzzle for puzzle in LADDER}
KERNELS: dict[str, Puzzle] = {puzzle.kernel: puzzle for puzzle in LADDER}
