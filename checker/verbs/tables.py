"""Progress of a long run on standard error, and its table on standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

_STYLES = {"passed": "green", "not_attempted": "dim", "skipped": "dim", "infra_error": "bold magenta"}


class ProgressBar:
    """A bar on a terminal; a line per item in a log. With `quiet`, the log stays empty."""

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
        self._bar = Progress(*columns, console=self._console, transient=True, disable=not self._console.is_terminal)
        self._task = self._bar.add_task("judging", total=total)

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def step(self, name: str, outcome: str) -> None:
        """Count one more item."""
        self._bar.update(self._task, advance=1, description=one_line(name))
        if not self._console.is_terminal and not self._quiet:
            print(f"{one_line(name)}: {outcome}", file=sys.stderr, flush=True)


def status_text(status: str, points: str = "") -> Text:
    """A status in its colour, followed by the points."""
    return Text(f"{words(status)} {points}".rstrip(), style=_STYLES.get(status, "red"))


def print_table(heads: Iterable[str], rows: Iterable[Iterable[str | Text]], *below: Text | str) -> None:
    """Print a table, unless it has no rows, and then the lines `below` it."""
    console = Console() if sys.stdout.isatty() else Console(width=140)
    table = Table(box=box.SIMPLE, pad_edge=False)
    for head in heads:
        table.add_column(head, overflow="fold", justify="right" if head in ("score", "points") else "left")
    for row in rows:
        table.add_row(*row)
    for part in (*([table] if table.row_count else []), *below):
        console.print(part)


def words(status: str) -> str:
    """A status as people read it."""
    return status.replace("_", " ")


def one_line(text: str) -> str:
    """A learner's text on one line, without characters that could control a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
