"""Three levels of hint, one more each time it is asked for; after passing, the explanation and the course's solution."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checker.region import region
from checker.workspace import Workspace

if TYPE_CHECKING:
    from checker.puzzle import Puzzle
    from checker.verbs.progress import Record

LEVELS = ("question", "idea", "skeleton")


@dataclass(frozen=True)
class Help:
    """One hint, or the explanation (level 4). `code` is Triton to read, `source` where it comes from."""

    puzzle: str
    title: str
    level: int
    heading: str
    prose: str = ""
    code: str = ""
    source: str = ""
    footer: str = ""

    def __repr__(self) -> str:
        return f"<hint for {self.puzzle}: {self.heading.lower()}>"


def level_number(level: int | str | None) -> int | None:
    """1 to 3 for a level given as a number or by name. Raises ValueError with what may be given."""
    if level is None:
        return None
    if isinstance(level, str) and level.isdigit():
        level = int(level)
    if isinstance(level, str) and level in LEVELS:
        return LEVELS.index(level) + 1
    if isinstance(level, int) and not isinstance(level, bool) and 1 <= level <= len(LEVELS):
        return level
    raise ValueError(f"a hint has the levels 1 (question), 2 (idea) and 3 (skeleton); there is no level {level!r}")


def next_level(record: Record, asked: int | None) -> int:
    """The level to show: the one asked for, 4 (explanation) once the puzzle is passed, else one more than before."""
    if asked is not None:
        return asked
    return len(LEVELS) + 1 if record.passed else min(record.hints + 1, len(LEVELS))


def help_for(puzzle: Puzzle, level: int, space: Workspace) -> Help:
    """What is shown at `level` (1 to 4)."""
    if level > len(LEVELS):
        return _explanation(puzzle, space)
    name = LEVELS[level - 1]
    heading = f"Hint {level} of {len(LEVELS)}: {name}"
    more = (
        f"The next call of `hint({puzzle.kernel})` shows the {LEVELS[level]}."
        if level < len(LEVELS)
        else "That is the last hint. Fill in the `...`, check, and look at the film: it shows which tile goes wrong."
    )
    text = (puzzle.hint.question, puzzle.hint.idea, puzzle.hint.skeleton)[level - 1]
    if name == "skeleton":
        return Help(puzzle.name, puzzle.title, level, heading, code=text, footer=more)
    return Help(puzzle.name, puzzle.title, level, heading, prose=text, footer=more)


def _explanation(puzzle: Puzzle, space: Workspace) -> Help:
    path = space.solution_file(puzzle.name)
    code, footer = (
        "",
        "The course's solution is not part of this installation; a copy of the course has it in `solutions/`.",
    )
    if path is not None:
        code, footer = (
            textwrap.dedent(region(path.read_text(encoding="utf-8"))),
            "Yours may look different and be as good: the verdict counts.",
        )
    return Help(
        puzzle.name,
        puzzle.title,
        len(LEVELS) + 1,
        "Why it works",
        prose=puzzle.explanation,
        code=code,
        source=f"solutions/{puzzle.name}.py" if code else "",
        footer=footer,
    )
