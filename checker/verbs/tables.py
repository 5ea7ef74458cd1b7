"""The panels of doctor, progress, hint and reset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from checker.view.panel import Cell, Panel

if TYPE_CHECKING:
    from checker.puzzle import Puzzle
    from checker.verbs.hints import Help
    from checker.verbs.machine import Finding
    from checker.verbs.progress import Progress
    from checker.verbs.resetting import Reset

_MARKS = {"ok": ("✓", "good"), "note": ("·", "soft"), "warning": ("!", "warn"), "problem": ("✗", "bad")}


def doctor_panel(report: Sequence[Finding], summary: str) -> Panel:
    rows = []
    for found in report:
        mark, tone = _MARKS[found.level]
        words = f"{mark} {found.level}"
        rows.append([Cell(found.what), Cell(words, tone), Cell(found.message, code=found.command)])
    return Panel("What works on this machine", heads=("", "", ""), rows=rows, footer=(summary,))


def progress_panel(ladder: Sequence[Puzzle], progress: Progress, folder: str) -> Panel:
    rows = [_progress_row(puzzle, progress) for puzzle in ladder]
    passed = [p for p in ladder if progress.of(p.name).passed]
    points, total = sum(p.points for p in passed), sum(p.points for p in ladder)
    ahead = next_puzzle(ladder, progress)
    closing = (
        f"Next: {ahead.title}, in `notebooks/{ahead.notebook}.ipynb` or `puzzles/{ahead.name}.py`."
        if ahead is not None
        else "Every puzzle of the ladder is solved."
    )
    title = f"{len(passed)} of {len(ladder)} puzzles passed, {points} of {total} points"
    heads = ("puzzle", "notebook", "status", "attempts", "hints", "bytes moved", "first passed")
    return Panel(title, progress.messages, heads, rows, footer=(closing, f"Kept in {folder}"))


def next_puzzle(ladder: Sequence[Puzzle], progress: Progress) -> Puzzle | None:
    """The first puzzle of the ladder that has not been passed."""
    return next((p for p in ladder if not progress.of(p.name).passed), None)


def _progress_row(puzzle: Puzzle, progress: Progress) -> list[Cell]:
    record = progress.of(puzzle.name)
    if record.passed:
        status = Cell("✓ passed" + ("" if record.status == "passed" else f" (last: {words(record.status)})"), "good")
    elif record.attempts:
        status = Cell(f"✗ {words(record.status)}", "warn")
    else:
        status = Cell("· not started", "soft")
    best = record.best_traffic
    moved = Cell("", number=True)
    if best is not None:
        moved = Cell(f"{best.moved:,}", number=True)
    return [
        Cell(puzzle.name),
        Cell(puzzle.notebook, "soft"),
        status,
        Cell(str(record.attempts) if record.attempts else "", number=True),
        Cell(str(record.hints) if record.hints else "", number=True),
        moved,
        Cell((record.first_passed or "")[:10], "soft"),
    ]


def words(status: str) -> str:
    """A status as people read it."""
    return status.replace("_", " ")


def hint_panel(shown: Help, messages: Sequence[str] = ()) -> Panel:
    source = (f"From `{shown.source}`:",) if shown.source else ()
    prose = [*messages, *([shown.prose] if shown.prose else []), *source]
    return Panel(f"{shown.title} · {shown.heading}", prose, code=shown.code, footer=(shown.footer,))


def reset_panel(done: Reset, cell: str) -> Panel:
    footer = ("For a notebook, paste this over the cell; notebooks are never changed for you:",) if cell else ()
    return Panel(f"Reset of {done.puzzle}", [*done.message.split("\n"), *footer], code=cell)
