"""From a trace to the steps of a film: which programs are shown, and each tile in the plane of its drawing."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from checker.films.diagram import Drawn
from checker.simulator.trace import Event, Tile, Trace

Box = tuple[int, int, int, int]
"""First row, last + 1, first column, last + 1."""
Span = tuple[int, int]
Program = tuple[int, int, int]
BLOCK_GAP = 3
"""Columns between two blocks in a row."""


@dataclass(frozen=True)
class FlatTile:
    """A tile in the plane of its tensor: which slice, the whole box, the active box, and runs ``(row, c0, c1)`` if ragged."""

    slice: int
    box: Box
    active: Box | None
    runs: tuple[tuple[int, int, int], ...] | None
    label: str

    @property
    def touched(self) -> list[Box]:
        """The elements that were really accessed, as boxes."""
        if self.runs is not None:
            return [(row, row + 1, c0, c1) for row, c0, c1 in self.runs]
        return [self.active] if self.active else []


@dataclass(frozen=True)
class Plane:
    """How a tensor is laid flat: the shape of its picture, whose last two dimensions are drawn.

    A vector is one row. If the dimension before the drawn ones is laid out in a row, `blocks` is ``(columns of a block, columns from
    one block to the next)``.
    """

    shape: tuple[int, ...]
    vector: bool = False
    blocks: tuple[int, int] = (0, 0)

    @property
    def rows(self) -> int:
        return self.shape[-2] if len(self.shape) > 1 else 1

    @property
    def columns(self) -> int:
        return self.shape[-1] if self.shape else 1

    @property
    def slices(self) -> int:
        return math.prod(self.shape[:-2]) if len(self.shape) > 2 else 1

    def lay(self, array: np.ndarray, fill: bool | int) -> np.ndarray:
        """An array of the tensor's shape as [slices, rows, columns] of this plane; `fill` is put between blocks."""
        wide, pitch = self.blocks
        if wide:
            blocks = array[..., None] if self.vector else array
            out = np.full((*blocks.shape[:-3], blocks.shape[-2], self.columns), fill, array.dtype)
            for i in range(blocks.shape[-3]):
                out[..., i * pitch : i * pitch + wide] = blocks[..., i, :, :]
            array = out
        return array.reshape(self.slices, self.rows, self.columns)

    def flat(self, tile: Tile, shape: Sequence[int]) -> FlatTile:
        """A tile of a tensor of `shape` in this plane; its label keeps the tensor's own indices."""
        label = flatten(tile, shape).label
        if self.blocks[0]:
            if self.vector:  # one column for each block
                tile = replace(tile, box=(*tile.box, (0, 1)), active=tile.active and (*tile.active, (0, 1)))
                shape = (*shape, 1)
            return replace(flatten(in_a_row(tile, shape, self.blocks[1]), self.shape), label=label)
        if self.vector:
            active = tile.active and (*tile.active[:-1], (0, 1), *tile.active[-1:])
            tile = replace(tile, box=(*tile.box[:-1], (0, 1), *tile.box[-1:]), active=active)
        return replace(flatten(tile, self.shape), label=label)


def plane_of(shape: Sequence[int], drawn: Drawn | None, widest: int) -> Plane:
    """The plane of a tensor that is declared so. `widest` is the width of the widest block in a row."""
    shape = tuple(shape)
    vector = drawn is not None and len(drawn.axes) == 1 and bool(shape)
    if drawn is not None and drawn.in_a_row:
        block = (*shape, 1) if vector else shape
        pitch = widest + BLOCK_GAP
        return Plane((*block[:-3], block[-2], (block[-3] - 1) * pitch + block[-1]), vector, (block[-1], pitch))
    return Plane((*shape[:-1], 1, *shape[-1:]) if vector and len(shape) > 1 else shape, vector and len(shape) > 1)


def in_a_row(tile: Tile, shape: Sequence[int], pitch: int) -> Tile:
    """A tile of [..., C, R, W] in the plane [..., R, C * pitch] whose C blocks are side by side.

    A tile is cut at the edge of its block, because the next block is drawn there.
    """
    *lead, (c0, c1), rows, (w0, w1) = tile.box
    w1 = max(min(w1, shape[-1]), w0)
    box = (*lead, rows, (c0 * pitch + w0, (max(c1, c0 + 1) - 1) * pitch + w1))
    active = None
    if tile.active is not None:
        *lead, (c0, c1), rows, (w0, w1) = tile.active
        active = (*lead, rows, (c0 * pitch + w0, (c1 - 1) * pitch + w1))
    ragged = tile.elements
    if ragged is None and tile.active is not None and tile.active[-3][1] > tile.active[-3][0] + 1:
        inside = np.zeros(shape, bool)  # the gaps between several blocks are not touched
        inside[tuple(slice(*side) for side in tile.active)] = True
        ragged = tuple(np.flatnonzero(inside).tolist())
    elements = None
    if ragged is not None:
        *leads, chunk, row, col = np.unravel_index(np.array(ragged, dtype=np.int64), tuple(shape))
        wide = (*shape[:-3], shape[-2], (shape[-3] - 1) * pitch + shape[-1])
        elements = tuple(np.sort(np.ravel_multi_index((*leads, row, chunk * pitch + col), wide)).tolist())
    return replace(tile, box=box, active=active, elements=elements)


def _flat_box(box: Sequence[Span]) -> Box:
    return (*(box[-2] if len(box) > 1 else (0, 1)), *(box[-1] if box else (0, 1)))


def flatten(tile: Tile, shape: Sequence[int]) -> FlatTile:
    """A tile of any rank in the plane of its last two dimensions."""
    plane, slice_ = Plane(tuple(shape)), 0
    for (start, _), extent in zip(tile.box[:-2], shape[:-2], strict=False):
        slice_ = slice_ * extent + min(max(start, 0), max(extent - 1, 0))
    runs: list[tuple[int, int, int]] | None = None
    if tile.elements is not None:
        runs, area = [], plane.rows * plane.columns
        for row, col in (divmod(e - slice_ * area, plane.columns) for e in tile.elements if e // area == slice_):
            if runs and runs[-1][0] == row and runs[-1][2] == col:
                runs[-1] = (row, runs[-1][1], col + 1)
            else:
                runs.append((row, col, col + 1))
    label = "[" + ", ".join(str(a) if b == a + 1 else f"{a}:{b}" for a, b in tile.active or tile.box) + "]"
    if runs is not None:
        label += f" ({len(tile.elements or ())} scattered elements)"
    active = None if tile.active is None else _flat_box(tile.active)
    return FlatTile(slice_, _flat_box(tile.box), active, None if runs is None else tuple(runs), label)


@dataclass
class Step:
    """One event as the film shows it. `later` is the next one of the same program, whose state is the one after this step."""

    at: int
    event: Event
    program: int
    tile: FlatTile | None
    later: Event | None = None

    def loads(self, tensor: str) -> bool:
        return self.event.kind == "load" and self.event.tensor == tensor and self.tile is not None

    @property
    def stores(self) -> bool:
        return self.event.kind in ("store", "atomic")


def choose(trace: Trace, most: int) -> tuple[list[Event], list[Program], int]:
    """Whole programs: the first ones that fit, and the last one. Returns their events, the programs, and how many are left out."""
    by_program: dict[Program, list[Event]] = defaultdict(list)
    for event in trace.events:
        by_program[event.program].append(event)
    programs = sorted(by_program, key=lambda program: program[::-1])  # x fastest
    room = most - (len(by_program[programs[-1]]) if programs else 0)
    kept: list[Program] = []
    for program in programs[:-1]:
        room -= len(by_program[program])
        if room < 0 and kept:
            break
        kept.append(program)
    kept += programs[-1:]
    return [e for p in kept for e in by_program[p][:most]], kept, len(programs) - len(kept)


def steps_of(events: Sequence[Event], planes: dict[str, Plane], shapes: dict[str, tuple[int, ...]]) -> list[Step]:
    """Every event with its tile laid flat and what follows it."""
    rank = {program: i for i, program in enumerate(dict.fromkeys(e.program for e in events))}
    out = []
    for k, event in enumerate(events):
        flat = None
        if event.tile is not None and event.tensor in planes:
            flat = planes[event.tensor].flat(event.tile, shapes[event.tensor])
        out.append(Step(k, event, rank[event.program], flat))
    for program_steps in by_program(out):
        for step, following in itertools.pairwise(program_steps):
            step.later = following.event
    return out


def by_program(steps: Sequence[Step]) -> list[list[Step]]:
    programs: dict[int, list[Step]] = {}
    for step in steps:
        programs.setdefault(step.program, []).append(step)
    return list(programs.values())


def colon(span: Span) -> str:
    """``0:16``."""
    return f"{span[0]}:{span[1]}"


def joined(spans: Iterable[Span]) -> list[Span]:
    """The same numbers in fewer ranges."""
    out: list[Span] = []
    for start, stop in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], stop))
        else:
            out.append((start, stop))
    return out


def joined_boxes(boxes: Iterable[Box]) -> list[Box]:
    """The same area in fewer boxes: neighbours in a row are joined, then neighbours in a column."""
    by_rows: dict[Span, list[Span]] = defaultdict(list)
    for r0, r1, c0, c1 in boxes:
        by_rows[r0, r1].append((c0, c1))
    by_columns: dict[Span, list[Span]] = defaultdict(list)
    for rows, spans in by_rows.items():
        for columns in joined(spans):
            by_columns[columns].append(rows)
    return [(*rows, *columns) for columns in sorted(by_columns) for rows in joined(by_columns[columns])]
