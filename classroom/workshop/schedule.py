"""The run sheet against the clock. The sheet comes from ``class agenda --json``: what is taught when."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from classroom.workshop import WorkshopError


class Item(msgspec.Struct, frozen=True):
    """One row of the run sheet; minutes count from the beginning of the class."""

    start_minute: float
    minutes: float
    title: str
    notebook: str = ""
    puzzles: list[str] = []
    kind: str = "exercise"

    @property
    def solved(self) -> list[str]:
        """The puzzles at which the class works in this row, itself."""
        return self.puzzles if self.kind == "exercise" else []


class Standing(msgspec.Struct, frozen=True):
    """Where the class is: `step` is the row it is at, `over` the minutes past that row's end, negative where there is time left."""

    step: int
    elapsed: float
    left: float
    over: float


def read(path: Path) -> list[Item]:
    """The rows of a file that ``class agenda --json`` wrote. Raises WorkshopError, FileNotFoundError."""
    return parse(path.read_bytes(), str(path))


def parse(text: bytes, called: str = "the agenda") -> list[Item]:
    """The rows, in the order of the clock. Raises WorkshopError."""
    try:
        items = msgspec.json.decode(text, type=list[Item])
    except msgspec.DecodeError as error:
        raise WorkshopError(f"{called} is no agenda of `class agenda --json`: {error}") from None
    if not items:
        raise WorkshopError(f"{called} is empty")
    return sorted(items, key=lambda item: item.start_minute)


def standing(items: Sequence[Item], started: float | None, step: int, now: float) -> Standing | None:
    """Where a class is that began at `started` and was moved on to row `step`; None before it began or without a sheet."""
    if started is None or not items:
        return None
    step = min(max(step, 0), len(items) - 1)
    elapsed = (now - started) / 60
    item = items[step]
    left = item.start_minute + item.minutes - elapsed
    return Standing(step, elapsed, max(left, 0.0), -left)
