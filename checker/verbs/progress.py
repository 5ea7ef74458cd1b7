"""`progress`: which puzzles a learner has tried and solved, their predictions and mistakes, and what comes next."""

from __future__ import annotations

from dataclasses import dataclass

from checker import workspace
from checker.course import PUZZLES
from checker.course.launchers import JUDGED
from checker.misconceptions import bank
from checker.puzzle import Puzzle
from checker.verbs import progress_file, second_try
from checker.verbs.progress_file import Progress, Record
from checker.view import display
from checker.view.panel import Cell, Panel

HEADS = ("puzzle", "notebook", "status", "attempts", "hints")
MOST_MISTAKES = 8
MOST_QUESTIONS = 3


@dataclass(frozen=True)
class ProgressSummary:
    """How far a learner has come; `next` is the first puzzle that they have not passed."""

    passed: int
    total: int
    points: int
    next: str | None

    def __repr__(self) -> str:
        return f"<{self.passed} of {self.total} puzzles passed" + (f", next: {self.next}>" if self.next else ">")


def progress() -> ProgressSummary:
    """Show the record of every puzzle."""
    space = workspace.find()
    saved = progress_file.load(space)
    puzzles = tuple(JUDGED.values())
    passed = [puzzle for puzzle in puzzles if saved.of(puzzle.name).passed]
    ahead = next((puzzle for puzzle in puzzles if puzzle not in passed), None)
    points, total = sum(p.points for p in passed), sum(p.points for p in puzzles)
    title = f"{len(passed)} of {len(puzzles)} puzzles passed, {points} of {total} points"
    closing = "You have solved every puzzle."
    if ahead is not None:
        or_file = f" or `puzzles/{ahead.name}.py`" if ahead.launcher is None else ""
        closing = f"Next: {ahead.title}, in `notebooks/{ahead.notebook}.ipynb`{or_file}."
    rows = [_row(puzzle, saved.of(puzzle.name)) for puzzle in puzzles]
    mistakes = _mistakes(saved)
    again = [f"{question} (`{notebook}`)" for question, notebook in second_try.due(saved)[:MOST_QUESTIONS]]
    lists = [("Mistakes the checker recognised", mistakes)] if mistakes else []
    if again:
        lists.append(("Predictions to try again, without looking", again))
    predictions = saved.predictions.values()
    right = sum(prediction.right for prediction in predictions)
    predicted = [f"Predictions: {right} of {len(predictions)} right at the first try."] if predictions else []
    footer = (*predicted, closing, f"Saved in {space.ours}")
    Panel(title, saved.messages, HEADS, rows, footer=footer, lists=lists).show()
    return display.shown(ProgressSummary(len(passed), len(puzzles), points, ahead.name if ahead else None))


def _mistakes(saved: Progress) -> list[str]:
    """The false assumptions behind the learner's wrong kernels, the most frequent first."""
    counts = [(n, puzzle, name) for puzzle, entry in saved.puzzles.items() for name, n in entry.mistakes.items()]
    lines = []
    for count, puzzle, name in sorted(counts, key=lambda entry: -entry[0])[:MOST_MISTAKES]:
        assumption = {m.name: m.believed for m in bank(puzzle)}.get(name) if puzzle in PUZZLES else None
        times = f" ({count} times)" if count > 1 else ""
        lines.append(f"`{puzzle}`{times}: you may have assumed that {assumption or name.replace('_', ' ')}")
    return lines


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
        Cell(puzzle.notebook.partition("_")[0], "soft"),
        shown,
        Cell(str(record.attempts or ""), number=True),
        Cell(str(record.hints or ""), number=True),
    ]
