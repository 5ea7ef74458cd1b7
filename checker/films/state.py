"""The variables of a kernel as numbers: vectors, tiles, and which rows of a tensor a running state belongs to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checker.films.diagram import RunningState
from checker.films.steps import FlatTile, Span, Step, by_program
from checker.films.svg import LEVELS, Heat


def vector(value: Any) -> list[float] | None:
    """A number, a vector or a one-column tile as a list of numbers; anything else has no rows."""
    values = value if isinstance(value, list) else [value]
    if all(isinstance(v, list) and len(v) == 1 for v in values):
        values = [v[0] for v in values]
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    return [float(v) for v in values] if values and numbers else None


def matrix(value: Any) -> np.ndarray | None:
    """A tile of numbers; None for anything else, such as a tile too large for the trace."""
    if not isinstance(value, list) or not value or not isinstance(value[0], list):
        return None
    array = np.array(value, dtype=object)
    return array.astype(np.float64) if array.ndim == 2 and not isinstance(value[0][0], bool) else None


def first_number(value: Any) -> Any:
    """The first entry of a vector or a tile, whose type is that of all."""
    while isinstance(value, list) and value:
        value = value[0]
    return value


def unchanged(old: Any, new: Any) -> bool:
    """Whether a variable did not change; a NaN is the same as a NaN."""
    return old is new or old == new or repr(old) == repr(new)


# ---- levels: numbers as one character each -----------------------------------------------------------------------------


def levels(values: np.ndarray, low: float, high: float) -> str:
    """One character for each number: 64 levels from `low` to `high`, ``-`` ``+`` ``?`` for what is not finite."""
    signs = np.where(np.isnan(values), "?", np.where(values > 0, "+", "-"))
    with np.errstate(invalid="ignore"):
        steps = np.clip((values - low) / ((high - low) or 1.0), 0, 1) * 63
    finite = np.isfinite(values)
    index = np.where(finite, np.round(np.where(finite, steps, 0)), 0).astype(int)
    return "".join(LEVELS[i] if ok else sign for i, ok, sign in zip(index, finite, signs, strict=True))


def span_of(arrays: Sequence[np.ndarray]) -> Span | tuple[float, float]:
    """The smallest and the largest finite number; (0, 1) without any."""
    finite = [f for a in arrays if (f := a[np.isfinite(a)]).size]
    if not finite:
        return 0.0, 1.0
    low, high = min(float(a.min()) for a in finite), max(float(a.max()) for a in finite)
    return (low, high) if math.isfinite(high - low) else (0.0, 1.0)


def signed_root(array: np.ndarray) -> np.ndarray:
    """The root of the magnitude: most weights are small next to the largest, and should be seen."""
    return np.sign(array) * np.sqrt(np.abs(array))


def quantised(arrays: Sequence[np.ndarray], room: int, signed: bool) -> tuple[list[Heat], tuple[float, float], int]:
    """Every array as levels, in as many cells as `room` characters for all distinct ones allow; span and cell size."""
    for step in (1, 2, 4, 8, 16):
        small = [pooled(array, step) for array in arrays]
        low, high = span_of(small)
        span = (-max(abs(low), abs(high)), max(abs(low), abs(high))) if signed else (low, high)
        heats = [(*array.shape, levels(array.reshape(-1), *span)) for array in small]
        if sum(len(text) for *_, text in set(heats)) <= room:
            break
    return heats, span, step


def pooled(array: np.ndarray, step: int) -> np.ndarray:
    """Means of step x step cells; a cell that is -inf for the most part stays so."""
    rows, cols = (max(n // step, 1) for n in array.shape)
    if step == 1 or array.shape[0] % rows or array.shape[1] % cols:
        return array
    blocks = array.reshape(rows, array.shape[0] // rows, cols, -1).swapaxes(1, 2).reshape(rows, cols, -1)
    finite = np.isfinite(blocks)
    total = np.where(finite, blocks, 0.0).sum(-1)
    return np.where(finite.mean(-1) >= 0.5, total / np.maximum(finite.sum(-1), 1), -np.inf)


# ---- which rows a running state belongs to -----------------------------------------------------------------------------


def held_rows(steps: Sequence[Step], running: RunningState) -> list[tuple[int, Span] | None]:
    """For every step: the slice and rows of its program's state just after it, None before the first.

    For a state in memory these are no rows, ``(0, 0)``, from the load of a tile until its state is computed: in between, the
    variables still hold the numbers of the previous tile.
    """
    out: list[tuple[int, Span] | None] = [None] * len(steps)
    for program_steps in by_program(steps):
        if running.in_memory:
            _rows_of_visits(program_steps, running, out)
            continue
        now: tuple[int, Span] | None = None
        for step in program_steps:
            if step.loads(running.rows) and step.tile:
                now = (step.tile.slice, step.tile.box[:2])
            out[step.at] = now
    return out


def _rows_of_visits(program_steps: Sequence[Step], running: RunningState, out: list[tuple[int, Span] | None]) -> None:
    visits = list(visits_in_memory(program_steps, running))
    for visit, following in zip(visits, [*visits[1:], None], strict=True):
        stale, done = (program_steps[i].event.state for i in (visit.at, visit.first_store))
        kept = [n for n in running.names if vector(done.get(n)) is not None]
        between = range(visit.at + 1, visit.first_store)
        fresh = (i for i in between if all(program_steps[i].event.state.get(n) != stale.get(n) for n in kept))
        computed = next(fresh, visit.first_store)
        for i in range(visit.at, following.at if following else len(program_steps)):
            out[program_steps[i].at] = (visit.slice, visit.rows) if i >= computed - 1 else (visit.slice, (0, 0))


@dataclass(frozen=True)
class Visit:
    """A tile of rows meets a tile of the walked tensor, and its state is stored: positions among the program's steps."""

    at: int  # the load of the second of the two
    first_store: int
    end: int  # the last store
    slice: int
    rows: Span
    walked: FlatTile


def visits_in_memory(program_steps: Sequence[Step], running: RunningState) -> Iterator[Visit]:
    """Every visit of one program."""
    rows: FlatTile | None = None
    walked: FlatTile | None = None
    at = first = end = -1
    for position, step in enumerate([*program_steps, None]):
        loads = step is not None and step.event.kind == "load" and step.event.tensor in (running.rows, running.walked)
        if first >= 0 and (loads or step is None) and rows is not None and walked is not None:
            yield Visit(at, first, end, rows.slice, rows.box[:2], walked)
            first = -1
        if step is not None and loads and step.tile is not None:
            rows, walked = (step.tile, walked) if step.event.tensor == running.rows else (rows, step.tile)
            at = position
        elif step is not None and step.event.kind == "store" and rows is not None and walked is not None:
            first, end = (first if first >= 0 else position), position
