"""What a run shows in a terminal: its progress on stderr, a table at the end on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from classroom.grading.mutants import Row
from classroom.grading.records import Result
from classroom.grading.run import Batch, Graded

_STYLES = {"passed": "green", "not_attempted": "dim", "skipped": "dim", "infra_error": "bold magenta"}


class Progress:
    """A bar on a terminal; a line per item in a log. `quiet` keeps the lines (not the bar) away."""

    def __init__(self, total: int, quiet: bool = False) -> None:
        self._console = Console(stderr=True)
        self._quiet = quiet
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self._bar = Bar(*columns, console=self._console, transient=True, disable=not self._console.is_terminal)
        self._task = self._bar.add_task("judging", total=total)

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def done(self, graded: Graded) -> None:
        self.step(graded.submission.name, ", ".join(f"{v.puzzle} {words(v.status)}" for v in graded.verdicts))

    def row(self, row: Row) -> None:
        self.step(f"{row.puzzle}/{row.name}", f"caught by {row.gate}" if row.caught else "survives")

    def step(self, name: str, outcome: str) -> None:
        """One more is done: `name`, with what `outcome`."""
        self._bar.update(self._task, advance=1, description=one_line(name))
        if not self._console.is_terminal and not self._quiet:
            print(f"{one_line(name)}: {outcome or 'no kernel'}", file=sys.stderr, flush=True)


def summary(batch: Batch) -> None:
    """One row per submission and puzzle, and the first thing that is wrong with each."""
    table = _table(["submission", "puzzle", "status", "score", ""])
    for graded in batch.graded:
        for verdict in graded.verdicts:
            failure = verdict.failure
            table.add_row(
                Text(one_line(graded.submission.name)),
                verdict.puzzle,
                Text(words(verdict.status), style=_STYLES.get(verdict.status, "red")),
                f"{verdict.score:g}/{verdict.max_score:g}",
                Text(one_line(failure.message) if failure is not None else ""),
            )
    passed = sum(verdict.passed for verdict in batch.verdicts)
    _print(table, Text(f"{passed} of {len(batch.verdicts)} passed"))


def class_table(result: Result) -> None:
    """A row for each learner: the points, and how each puzzle went."""
    table = _table(["learner", "status", "points", *(asked.puzzle for asked in result.puzzles)])
    for learner in result.learners:
        cells = [
            Text(f"{words(p.status)} {p.score:g}/{p.max_score:g}", style=_STYLES.get(p.status, "red"))
            for p in learner.puzzles
        ]
        points = f"{learner.score:g}/{learner.max_score:g}"
        table.add_row(Text(one_line(learner.person.name or learner.person.id)), learner.status, points, *cells)
    _console().print(table)


def kill_table(rows: list[Row], device: str) -> None:
    """One row per misconception: what caught it, and what the card called it."""
    launched = any(row.gpu is not None for row in rows)
    heads = ["puzzle", "misconception", "caught by", "meant for", "named as"]
    table = _table(heads + ["on the GPU"] * launched)
    for row in rows:
        good = row.by_the_right_gate
        caught = str(row.gate) if row.caught else f"survives ({words(row.status)})"
        table.add_row(
            row.puzzle,
            row.name,
            Text(caught, style="green" if good else "bold red"),
            " or ".join(row.expected),
            Text(row.diagnosed_as or "-", style="green" if row.diagnosed else "yellow"),
            *([Text(row.gpu or "not run", style="green" if row.agrees else "bold red")] if launched else []),
        )
    right, named = sum(row.by_the_right_gate for row in rows), sum(row.diagnosed for row in rows)
    said = [Text(f"{device}: {right} of {len(rows)} caught by a gate meant for it, {named} of {len(rows)} named")]
    if hidden := ", ".join(f"{row.puzzle}/{row.name}" for row in rows if not row.agrees):
        said.append(Text(f"the GPU shows nothing of {hidden}", style="bold red"))
    _print(table, *said)


def _table(heads: Iterable[str]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for head in heads:
        table.add_column(head, overflow="fold", justify="right" if head in ("score", "points") else "left")
    return table


def _console() -> Console:
    return Console() if sys.stdout.isatty() else Console(width=140)


def _print(table: Table, *below: Text) -> None:
    console = _console()
    for part in (*([table] if table.row_count else []), *below):
        console.print(part)


def words(status: str) -> str:
    """A status as people read it."""
    return status.replace("_", " ")


def one_line(text: str) -> str:
    """A learner's text on one line, without what could steer a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
