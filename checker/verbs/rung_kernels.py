"""Which kernel stands for a rung: the learner's newest that passed, else the course's solution.

A demonstration is nobody's to solve: its kernel is always the course's.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from checker.course import PUZZLES
from checker.course.demonstrations import DEMONSTRATIONS, FOLDER
from checker.puzzle import Puzzle
from checker.verbs.naming import UsageError
from checker.workspace import Workspace

if TYPE_CHECKING:
    from checker.submission.kernel import KernelSource


def puzzle_called(name: str) -> Puzzle:
    """The puzzle or the demonstration of that name. Raises UsageError."""
    found = PUZZLES.get(name) or DEMONSTRATIONS.get(name)
    if found is None:
        raise UsageError(f"There is no puzzle called {name}. The puzzles are {', '.join([*PUZZLES, *DEMONSTRATIONS])}.")
    return found


def own(space: Workspace, puzzle: Puzzle) -> KernelSource | None:
    """The learner's newest kernel that passed."""
    files = sorted((space.ours / "passed").glob(f"{puzzle.name}-*.py"), key=lambda path: path.stat().st_mtime)
    return _read(files[-1], puzzle) if files else None


def courses(space: Workspace, puzzle: Puzzle) -> KernelSource:
    """The course's own kernel. Raises UsageError where its folder is not part of this installation."""
    shown = puzzle.name in DEMONSTRATIONS
    path = space.solution_file(f"{FOLDER}/{puzzle.name}" if shown else puzzle.name)
    source = _read(path, puzzle) if path else None
    if source is None:
        needed = "is a kernel of the course's own" if shown else "is not solved yet"
        raise UsageError(f"{puzzle.name} {needed}, and the folder solutions/ is not here to run it from.")
    return source


def chosen(space: Workspace, puzzle: Puzzle) -> tuple[KernelSource, bool]:
    """The kernel to count and to time, and whether it is the course's in the place of one that is not solved yet."""
    kept = own(space, puzzle)
    return kept or courses(space, puzzle), kept is None and puzzle.name not in DEMONSTRATIONS


def to_film(space: Workspace, puzzle: Puzzle) -> KernelSource | None:
    """The kernel whose source may be shown: not the solution of a puzzle that the learner still has ahead."""
    return courses(space, puzzle) if puzzle.name in DEMONSTRATIONS else own(space, puzzle)


def _read(path: Path, puzzle: Puzzle) -> KernelSource | None:
    from checker.submission.from_path import from_path

    return next((found.source for found in from_path(path, [puzzle]) if found.source is not None), None)
