"""Launchers: the functions around kernels that the course asks for. They are judged like puzzles, and have no place in the ladder.

The course's own are in `solutions/launchers/`.
"""

from __future__ import annotations

from checker.course import PUZZLES
from checker.course.launchers import paged_decode
from checker.puzzle import Puzzle

LAUNCHERS: dict[str, Puzzle] = {puzzle.name: puzzle for puzzle in (paged_decode.PUZZLE,)}
"""By the name of the puzzle, which is that of the function, too."""
JUDGED: dict[str, Puzzle] = {**PUZZLES, **LAUNCHERS}
"""Everything that may be handed in."""
