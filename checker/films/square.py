"""Tiles that a kernel makes on chip from two others: the tile of each step, its values, and its results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from checker.films.diagram import Enlarged, Square
from checker.films.state import levels, matrix, quantised, signed_root, span_of, vector
from checker.films.steps import Box, Span, Step, by_program, joined
from checker.films.svg import Heat
from checker.view.formats import number

TILE_ROOM, RESULT_ROOM = 26_000, 12_000
"""Characters for all heat maps of one tile's name and of results: more of them are drawn with fewer cells."""


@dataclass(frozen=True)
class Pair:
    """A tile of rows and a tile of columns that a program holds at the same time, cut at the edges; `size` is that of the whole tile."""

    slice: int
    rows: Span
    columns: Span
    size: tuple[int, int]

    @property
    def box(self) -> Box:
        return (*self.rows, *self.columns)

    @property
    def inside(self) -> tuple[float, float]:
        """The parts of the tile's height and width that are inside."""
        return (self.rows[1] - self.rows[0]) / self.size[0], (self.columns[1] - self.columns[0]) / self.size[1]


@dataclass
class Held:
    """What is on chip at a step: the pair, and pictures by their place in ``Square.lens``."""

    pair: Pair | None = None
    pictures: dict[int, Heat | str] = field(default_factory=dict)
    """Heat maps of tiles, levels of vectors."""


@dataclass
class Visits:
    """Every pair of tiles that meets, and what each step shows of it."""

    at: list[Held]
    names: list[str]
    """Of the variables in ``Square.lens``."""
    notes: list[str]
    """The line below each of them."""
    skipped: list[tuple[int, Box, int]] = field(default_factory=list)
    """``(slice, box, last step of the program)``: tiles that the program never loads."""

    @property
    def pairs(self) -> list[Pair]:
        return list(dict.fromkeys(held.pair for held in self.at if held.pair))

    def heat(self, k: int) -> Heat | None:
        """The tile of step `k`."""
        picture = self.at[k].pictures.get(0)
        return picture if isinstance(picture, tuple) else None


Captured = list[tuple[int, np.ndarray]]
"""Steps and what they hold."""


def visits(steps: Sequence[Step], square: Square, extent: tuple[int, int]) -> Visits:
    """Follow every program: which pairs of tiles meet in a `tl.dot`, and what is on chip then. `extent` is the size of the whole square."""
    multiply = any(s.event.kind == "dot" for s in steps)
    names = [
        next((n for n in e.names for s in steps if _value(s.event.state.get(n), e) is not None), e.names[0])
        for e in square.lens
    ]
    out = Visits([Held() for _ in steps], names, [e.note for e in square.lens])
    captured: list[Captured] = [[] for _ in square.lens]
    for program_steps in by_program(steps):
        met = [
            (pair, during)
            for pair, during in _pairs(program_steps, square, extent)
            if not multiply or any(s.event.kind == "dot" for s in during)
        ]
        for pair, during in met:
            first = _makes(during, names[0], multiply)
            for step in during:
                out.at[step.at].pair = pair
                if step.at >= first and step.later is not None:
                    _made(step, pair, square, names, captured)
        _results(program_steps, square, names, out, captured)
        if square.skips:
            out.skipped += _skipped([pair for pair, _ in met], program_steps[-1].at, steps, extent, square)
    _quantise(out, square, captured)
    return out


def _value(value: object, enlarged: Enlarged) -> np.ndarray | None:
    if not enlarged.vector:
        return matrix(value)
    values = vector(value)
    return None if values is None else np.array(values)


def _pairs(program_steps: Sequence[Step], square: Square, extent: tuple[int, int]) -> list[tuple[Pair, list[Step]]]:
    rows: tuple[int, Span] | None = None
    columns: Span | None = None
    pairs: list[tuple[Pair, list[Step]]] = []
    depth: int | None = None  # loops around the load that completed the pair that is held
    for step in program_steps:
        flat = step.tile
        if flat is not None and (step.loads(square.rows) or step.loads(square.columns)):
            if step.event.tensor == square.rows:
                rows = (flat.slice, flat.box[:2])
            else:
                columns = flat.box[:2]
            if rows and columns and flat.active:
                (r0, r1), (c0, c1) = rows[1], columns
                pairs.append(
                    (Pair(rows[0], (r0, min(r1, extent[0])), (c0, min(c1, extent[1])), (r1 - r0, c1 - c0)), [])
                )
                depth = len(step.event.loops)
        elif depth is not None and len(step.event.loops) < depth:
            depth = None
        if depth is not None:
            pairs[-1][1].append(step)
    return pairs


def _makes(during: Sequence[Step], name: str, multiply: bool) -> int:
    """The step that makes the tile."""
    old = during[0].event.state.get(name)
    for step in during:
        if step.later is not None and step.later.state.get(name) != old:
            return step.at
    dot = next((s.at for s in during if s.event.kind == "dot"), during[-1].at)
    return dot if multiply else during[-1].at


def _made(step: Step, pair: Pair, square: Square, names: Sequence[str], captured: list[Captured]) -> None:
    assert step.later is not None
    for enlarged, name, kept in zip(square.lens, names, captured, strict=True):
        values = _value(step.later.state.get(name), enlarged) if enlarged.when == "made" else None
        if values is not None and (len(values) in pair.size if enlarged.vector else values.shape == pair.size):
            kept.append((step.at, values))


def _results(
    program_steps: Sequence[Step], square: Square, names: Sequence[str], out: Visits, captured: list[Captured]
) -> None:
    """Results before and after the steps that change them. If both have their own names, both stay until the tile goes."""
    for place, enlarged in enumerate(square.lens):
        if enlarged.when == "made":
            continue
        name = names[place]
        trigger = enlarged.changes or name
        lingers = any(
            e.when == "before" and e.changes not in ("", n) and trigger in (e.changes, n)
            for e, n in zip(square.lens, names, strict=True)
        )
        kept: tuple[Pair | None, np.ndarray | None] = (None, None)
        for step in program_steps:
            pair, old = out.at[step.at].pair, step.event.state
            new = step.later.state if step.later else None
            changed = new is not None and pair is not None and old.get(trigger) != new.get(trigger)
            value = None
            if enlarged.when == "before" and (name == trigger or changed):
                value = matrix(old.get(name))
            elif enlarged.when == "after" and changed and new is not None:
                value = matrix(new.get(name))
            if lingers and changed and value is not None:
                kept = (pair, value)
            elif lingers and value is None and kept[0] is not None and kept[0] == pair:
                value = kept[1]
            if value is not None:
                captured[place].append((step.at, value))


def _skipped(
    visited: Sequence[Pair], last: int, steps: Sequence[Step], extent: tuple[int, int], square: Square
) -> Iterator[tuple[int, Box, int]]:
    """Tiles of the grid that this program spans and never visited."""
    loaded = {s.tile.box[:2] for s in steps if s.loads(square.columns) and s.tile and s.tile.active}
    wide = max((stop - start for start, stop in loaded), default=1)
    grid = {(c, min(c + wide, extent[1])) for c in range(0, extent[1], wide)}
    columns = sorted({(start, min(stop, extent[1])) for start, stop in loaded} | grid)
    for slice_, rows in sorted({(pair.slice, pair.rows) for pair in visited}):
        seen = joined(pair.columns for pair in visited if (pair.slice, pair.rows) == (slice_, rows))
        for start, stop in columns:
            if not any(a <= start and stop <= b for a, b in seen):
                yield slice_, (*rows, start, stop), last


def _quantise(out: Visits, square: Square, captured: list[Captured]) -> None:
    """Numbers as levels: each tile by its own span, all results by one."""
    results = [i for i, e in enumerate(square.lens) if e.when != "made"]
    heats, (_, far), cells = quantised(
        [signed_root(a) for i in results for _, a in captured[i]], RESULT_ROOM, signed=True
    )
    drawn = iter(heats)
    for i in results:
        for k, _ in captured[i]:
            out.at[k].pictures[i] = next(drawn)
    for i, enlarged in enumerate(square.lens):
        arrays = [array for _, array in captured[i]]
        if enlarged.when == "after" and arrays:
            out.notes[i] += f": ±{number(far * far, 5)}{_means(cells)}"
        if enlarged.when != "made":
            continue
        if enlarged.vector:
            low, high = span_of(arrays)
            for k, values in captured[i]:
                out.at[k].pictures[i] = levels(values, min(low, 0.0), max(high, 1.0))
            continue
        pictures, (low, high), cells_made = quantised(arrays, TILE_ROOM, signed=enlarged.signed)
        out.notes[i] = f"{number(low, 5)} … {number(high, 5)}{_means(cells_made)}" if arrays else "not captured"
        for (k, _), heat in zip(captured[i], pictures, strict=True):
            out.at[k].pictures[i] = heat


def _means(cells: int) -> str:
    return f", means of {cells} × {cells}" if cells > 1 else ""
