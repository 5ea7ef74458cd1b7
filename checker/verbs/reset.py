"""`reset`: puts a stub back into `puzzles/`, after keeping what stood there. Notebooks are never edited."""

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
    """What was done: `file` holds the stub again; `saved` is the copy of what stood in it (None if it held the stub)."""

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
            return f"{self.file} holds the untouched stub; there was nothing to reset."
        if self.saved is None:
            return f"{self.file} was missing; it holds the stub now."
        return f"Your version is kept in {self.saved}.\n{self.file} holds the stub again."


def reset(what: Any) -> Reset:
    """Put a puzzle's stub back, after saving what stood in its file. Raises UsageError."""
    puzzle = puzzle_named(what, "reset").name
    try:
        done = _put_back(puzzle, workspace.find())
    except OSError as error:
        raise UsageError(f"{puzzle} was not reset, and nothing was changed: {error}. {workspace.UNWRITABLE}") from None
    prose, cell = done.message.split("\n"), ""
    if display.in_notebook():
        prose.append("For a notebook, paste this over the cell; notebooks are never changed for you:")
        cell = notebook_cell(done.stub)
    Panel(f"Reset of {puzzle}", prose, code=cell).show()
    return display.shown(done)


def _put_back(puzzle: str, space: Workspace) -> Reset:
    """The learner's version is saved first, or nothing is changed.

    Raises FileNotFoundError where the course's own files are not at hand, OSError where the folder cannot be written.
    """
    solution = space.solution_file(puzzle)
    if solution is None:
        raise FileNotFoundError(f"solutions/{puzzle}.py, which the stub is made from, is not part of this installation")
    text, file = stub(solution.read_text(encoding="utf-8")), space.puzzle_file(puzzle)
    old = file.read_bytes() if file.exists() else None
    if old == text.encode():
        return Reset(puzzle, file, None, False, text)
    saved = None if old is None else workspace.keep_copy(space.ours / "saved", puzzle, old)
    workspace.write_atomically(file, text)
    return Reset(puzzle, file, saved, True, text)


def notebook_cell(text: str) -> str:
    """The stub as a notebook has it: without the file's title, which the text around the cell gives already."""
    lines = text.splitlines(keepends=True)
    first = ast.parse(text).body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        lines = lines[first.end_lineno :]
    return "".join(lines).strip("\n") + "\n"
