"""The run sheet on the board's clock. Its rows come from ``agenda --json``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from checker.api.command_line import UsageError


class Item(msgspec.Struct, frozen=True):
    """One row of the run sheet; minutes count from the beginning of the class."""

    start_minute: float
    minutes: float
    title: str
    notebook: str = ""
    puzzles: list[str] = []
    kind: str = "exercise"
    question: str = ""

    @property
    def exercises(self) -> list[str]:
        """The puzzles that the class itself solves in this row."""
        return self.puzzles if self.kind == "exercise" else []


class Standing(msgspec.Struct, frozen=True):
    """The row `step` that the class is in, minutes since the class began, and minutes `left` in the row, negative when late."""

    step: int
    elapsed: float
    left: float


def read(path: Path) -> list[Item]:
    """The rows of a file that ``agenda --json`` wrote. Raises UsageError, FileNotFoundError."""
    return parse(path.read_bytes(), str(path))


def parse(text: bytes, file: str = "the agenda") -> list[Item]:
    """The rows, by their start. Raises UsageError."""
    try:
        items = msgspec.json.decode(text, type=list[Item])
    except msgspec.DecodeError as error:
        raise UsageError(f"{file} was not written by `agenda --json`: {error}") from None
    if not items:
        raise UsageError(f"{file} is empty")
    return sorted(items, key=lambda item: item.start_minute)


def standing(items: Sequence[Item], started: float | None, step: int, now: float) -> Standing | None:
    """Where a class is that began at `started` and went on to row `step`; None before it began or without a run sheet."""
    if started is None or not items:
        return None
    step = min(max(step, 0), len(items) - 1)
    elapsed = (now - started) / 60
    return Standing(step, elapsed, items[step].start_minute + items[step].minutes - elapsed)
