"""Launchers: the functions around kernels that the course asks for. They are judged like puzzles, and have no place in the ladder.

The course's own are in `solutions/launchers/`.
"""

from __future__ import annotations

from checker.course import LADDER, PUZZLES
from checker.course.launchers import paged_decode
from checker.puzzle import Puzzle

LAUNCHERS: dict[str, Puzzle] = {puzzle.name: puzzle for puzzle in (paged_decode.PUZZLE,)}
"""By the name of the puzzle, which is that of the function, too."""
_place = {puzzle.notebook: place for place, puzzle in enumerate(LADDER)}
JUDGED: dict[str, Puzzle] = dict(sorted({**PUZZLES, **LAUNCHERS}.items(), key=lambda item: _place[item[1].notebook]))
"""Everything that may be handed in: the ladder, and each launcher after the puzzles of its notebook."""
