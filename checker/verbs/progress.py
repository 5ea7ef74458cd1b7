"""`progress`: what was tried and solved, and what comes next."""

from __future__ import annotations

from dataclasses import dataclass

from checker import workspace
from checker.course import LADDER
from checker.puzzle import Puzzle
from checker.verbs import progress_file
from checker.verbs.progress_file import Record
from checker.view import display
from checker.view.panel import Cell, Panel

HEADS = ("puzzle", "notebook", "status", "attempts", "hints", "bytes moved", "first passed")


@dataclass(frozen=True)
class ProgressSummary:
    """How far a learner is; `next` is the first puzzle of the ladder that has not been passed."""

    passed: int
    total: int
    points: int
    next: str | None

    def __repr__(self) -> str:
        return f"<{self.passed} of {self.total} puzzles passed" + (f", next: {self.next}>" if self.next else ">")


def progress() -> ProgressSummary:
    """Show every puzzle of the ladder with what is saved about it."""
    space = workspace.find()
    saved = progress_file.load(space)
    passed = [puzzle for puzzle in LADDER if saved.of(puzzle.name).passed]
    ahead = next((puzzle for puzzle in LADDER if puzzle not in passed), None)
    points, total = sum(p.points for p in passed), sum(p.points for p in LADDER)
    title = f"{len(passed)} of {len(LADDER)} puzzles passed, {points} of {total} points"
    closing = (
        f"Next: {ahead.title}, in `notebooks/{ahead.notebook}.ipynb` or `puzzles/{ahead.name}.py`."
        if ahead is not None
        else "Every puzzle of the ladder is solved."
    )
    rows = [_row(puzzle, saved.of(puzzle.name)) for puzzle in LADDER]
    Panel(title, saved.messages, HEADS, rows, footer=(closing, f"Kept in {space.ours}")).show()
    return display.shown(ProgressSummary(len(passed), len(LADDER), points, ahead.name if ahead else None))


def _row(puzzle: Puzzle, record: Record) -> list[Cell]:
    status = record.status.replace("_", " ")
    if record.passed:
        shown = Cell("✓ passed" + ("" if status == "passed" else f" (last: {status})"), "good")
    elif record.attempts:
        shown = Cell(f"✗ {status}", "warn")
    else:
        shown = Cell("· not started", "soft")
    return [
        Cell(puzzle.name),
        Cell(puzzle.notebook, "soft"),
        shown,
        Cell(str(record.attempts or ""), number=True),
        Cell(str(record.hints or ""), number=True),
        Cell(f"{record.best_traffic.moved:,}" if record.best_traffic else "", number=True),
        Cell((record.first_passed or "")[:10], "soft"),
    ]
