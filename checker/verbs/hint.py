"""`hint`: three levels, one further with each call; after passing, the explanation and the course's solution."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from typing import Any

from checker import workspace
from checker.puzzle import Puzzle
from checker.submission.marked_region import region
from checker.verbs import ipython, progress_file
from checker.verbs.arguments import UsageError, puzzle_named
from checker.verbs.progress_file import Record
from checker.view import display
from checker.view.panel import Panel
from checker.workspace import Workspace

LEVELS = ("question", "idea", "skeleton")
EXPLANATION = len(LEVELS) + 1


@dataclass(frozen=True)
class ShownHint:
    """A hint, or the explanation (level 4). `code` is Triton, from the file `source`."""

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


def hint(what: Any, level: int | str | None = None) -> ShownHint:
    """Show the next hint of a puzzle, or the hint at `level`. Raises UsageError."""
    puzzle, space = puzzle_named(what, "hint"), workspace.find()
    record = progress_file.load(space).of(puzzle.name)
    if level is None and not record.passed and ipython.ran_with_others():
        return _held_back(puzzle, record)
    shown = hint_at(puzzle, _level(record, level), space)
    counted = shown.level if shown.level < EXPLANATION else 0  # the explanation after passing is no help
    progress = progress_file.update(space, puzzle.name, lambda old: replace(old, hints=max(old.hints, counted)))
    source = (f"From `{shown.source}`:",) if shown.source else ()
    prose = [*progress.messages, *([shown.prose] if shown.prose else []), *source]
    Panel(f"{shown.title} · {shown.heading}", prose, code=shown.code, footer=(shown.footer,)).show()
    return display.shown(shown)


def _held_back(puzzle: Puzzle, record: Record) -> ShownHint:
    """Show no hint if the cell ran together with others, e.g. after "Run all"."""
    prose = "To see a hint, run this cell by itself. It ran together with other cells, so no hint was used up."
    shown = ShownHint(puzzle.name, puzzle.title, record.hints, "No hint shown", prose)
    Panel(f"{shown.title} · hints", (prose,)).show()
    return display.shown(shown)


def _level(record: Record, level: int | str | None) -> int:
    """The number of a level given by number or name; by default one more than last time, or 4 after passing."""
    if level is None:
        return EXPLANATION if record.passed else min(record.hints + 1, len(LEVELS))
    level = int(level) if isinstance(level, str) and level.isdigit() else level
    if isinstance(level, str) and level in LEVELS:
        return LEVELS.index(level) + 1
    if isinstance(level, int) and not isinstance(level, bool) and 1 <= level <= len(LEVELS):
        return level
    raise UsageError(f"hints have levels 1 (question), 2 (idea) and 3 (skeleton), not {level!r}")


def hint_at(puzzle: Puzzle, level: int, space: Workspace) -> ShownHint:
    """The hint at `level`, 1 to 4."""
    if level == EXPLANATION:
        return _explanation(puzzle, space)
    name = LEVELS[level - 1]
    text: str = getattr(puzzle.hint, name)
    footer = (
        f"{_next_call(puzzle)} shows the {LEVELS[level]}."
        if level < len(LEVELS)
        else "That is the last hint. Fill in the `...`, run check, and watch the film: it shows which tile goes wrong."
    )
    prose, code = ("", text) if name == "skeleton" else (text, "")
    heading = f"Hint {level} of {len(LEVELS)}: {name}"
    return ShownHint(puzzle.name, puzzle.title, level, heading, prose, code, footer=footer)


def _next_call(puzzle: Puzzle) -> str:
    """How to get the next hint, in Python or in a shell."""
    if display.interactive():
        return f"Calling `hint({puzzle.kernel})` again"
    return f"`python -m checker hint {puzzle.name}`"


def _explanation(puzzle: Puzzle, space: Workspace) -> ShownHint:
    path = space.solution_file(puzzle.name)
    shown = ShownHint(puzzle.name, puzzle.title, EXPLANATION, "Why it works", puzzle.explanation)
    if path is None:
        missing = "The course's solution is missing here. A full copy of the course has it in `solutions/`."
        return replace(shown, footer=missing)
    return replace(
        shown,
        code=textwrap.dedent(region(path.read_text(encoding="utf-8"))),
        source=path.relative_to(
            next(folder for folder in path.parents if folder.name == "solutions").parent
        ).as_posix(),
        footer="Yours may look different and be just as good.",
    )
