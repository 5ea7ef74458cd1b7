"""`reset`: save the learner's file and restore the stub in `puzzles/`. Notebooks are never changed."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker import workspace
from checker.submission.marked_region import stub
from checker.verbs.arguments import UsageError, puzzle_named
from checker.view import display
from checker.view.panel import Panel
from checker.workspace import Workspace


@dataclass(frozen=True)
class Reset:
    """What was done: `file` holds the stub again; `saved` is the copy of the learner's version, if they had one."""

    puzzle: str
    file: Path
    saved: Path | None
    changed: bool
    stub: str

    def __repr__(self) -> str:
        return f"<{self.puzzle}: {'the stub is back' if self.changed else 'nothing to reset'}>"

    @property
    def message(self) -> str:
        if not self.changed:
            return f"There is nothing to reset: {self.file} still holds the stub."
        if self.saved is None:
            return f"{self.file} was missing; it now holds the stub."
        return f"Your version is saved as {self.saved}.\n{self.file} holds the stub again."


def reset(what: Any) -> Reset:
    """Save a puzzle's file and restore its stub. Raises UsageError."""
    puzzle = puzzle_named(what, "reset").name
    try:
        done = _put_back(puzzle, workspace.find())
    except OSError as error:
        raise UsageError(f"{puzzle} was not reset, and nothing was changed: {error}. {workspace.UNWRITABLE}") from None
    prose, cell = done.message.split("\n"), ""
    if display.in_notebook():
        prose.append("Notebooks are never changed for you. To reset one, paste this over the cell:")
        cell = notebook_cell(done.stub)
    Panel(f"Reset of {puzzle}", prose, code=cell).show()
    return display.shown(done)


def _put_back(puzzle: str, space: Workspace) -> Reset:
    """Restore the stub, but only once the learner's version is saved. Raises OSError, and FileNotFoundError without a solution."""
    solution = space.solution_file(puzzle)
    if solution is None:
        raise FileNotFoundError(f"the stub is made from solutions/{puzzle}.py, which is missing here")
    text, file = stub(solution.read_text(encoding="utf-8")), space.puzzle_file(puzzle)
    old = file.read_bytes() if file.exists() else None
    if old == text.encode():
        return Reset(puzzle, file, None, False, text)
    saved = None if old is None else workspace.keep_copy(space.ours / "saved", puzzle, old)
    workspace.write_atomically(file, text)
    return Reset(puzzle, file, saved, True, text)


def notebook_cell(text: str) -> str:
    """The stub without the file's docstring: a notebook has that text above the cell."""
    lines = text.splitlines(keepends=True)
    first = ast.parse(text).body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        lines = lines[first.end_lineno :]
    return "".join(lines).strip("\n") + "\n"
