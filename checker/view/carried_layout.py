"""The stage of linear attention: keys to the left of the state and values above it, as in the product φ(K)ᵀ V; output below it.

::

                 v [N, D_V]     start (memory)
    k [D, N]     S [D, D_V] z   S before this step
    q [N, D] A   o [N, D_V]     end (memory)
    chunks (memory), in a row

Every product of linear attention lies where a product is written: a number of S has its row in k and its column in v, a
number of o has its row in q (and in A, the weights) and its column in S (and in v).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from checker.puzzle import Carried
from checker.view.attention_layout import Lens, Square
from checker.view.layout import Panel

Rect = tuple[float, float, float, float]  # x, y, width, height
NOTHING: Rect = (0.0, 0.0, 0.0, 0.0)
WIDTH = 640.0
TOP, APART, BREATH = 30.0, 12.0, 30.0
SQUARE, STATE, THIN, VALUES = 176.0, 128.0, 48.0, 92.0
"""Heights of the square, of the state and of the values; width of the queries."""
SUMS = 26.0
BLOCK_GAP = 3
"""Columns between the states of two chunks, where they stand in a row."""


@dataclass(frozen=True)
class CarriedStage:
    """Where the state stands: `rows` and `cols` elements in `state`, its sum of features in `sums`, both as they were in the others."""

    rows: int
    cols: int
    state: Rect
    sums: Rect
    before: Rect
    sums_before: Rect
    square: Square | None
    doing: tuple[float, float]
    words: tuple[float, float]
    bottom: float
    """Of what a miniature shows."""


def pitch_of(columns: int) -> int:
    """Columns from one chunk's state to the next."""
    return columns + BLOCK_GAP


def carried_stage(
    bare: Mapping[str, Panel], carried: Carried, tile: tuple[int, int] | None
) -> tuple[dict[str, Panel], float, float, CarriedStage]:
    """Place the tensors: ``(panels by name, width, height, stage)``. `tile` is that of the weights where they are shown."""
    if carried.added:
        return _sum_stage({n: replace(p, r0=0, r1=p.rows) for n, p in bare.items()}, carried)
    tokens = (carried.queries, carried.keys, carried.values, carried.output)  # their last tile may hang over
    panels = {
        n: p if p.blocks[0] else replace(p, r0=0, c0=0, r1=p.r1 if n in tokens else p.rows, c1=p.cols)
        for n, p in bare.items()
    }
    k, v = panels[carried.keys], panels[carried.values]
    q, o = panels.get(carried.queries), panels.get(carried.output)
    d, d_v = k.cols, v.cols
    ud = min(STATE / d, 150.0 / d_v, 16.0)
    un = min(176.0 / k.r1, SQUARE / q.r1 if q else 12.0, 12.0)
    left = max(30.0, 5.4 * len((q or k).about) + 4 - THIN)
    across = left + THIN + APART
    state_x = across + k.r1 * un + 16
    wide, high = d_v * ud, d * ud
    v_high = min(VALUES, v.r1 * 12.0)
    memory = any(n in panels for n in carried.start)
    state_y = TOP + max(v_high, VALUES if memory or tile else 0.0) + BREATH
    square_y = state_y + high + BREATH
    beside = state_x + wide + 8 + SUMS + 22
    top = TOP + 6 + (VALUES - v_high) * 0.3

    v = replace(v, c1=_overhang(bare[v.name], ud))
    o = replace(o, c1=_overhang(bare[o.name], ud)) if o else None
    placed = {
        k.name: replace(k, x=across, y=state_y, ux=un, uy=ud, transposed=True, axes="x", label=(across - 8, state_y + 12, -12)),
        v.name: replace(v, x=state_x, y=TOP, ux=ud, uy=v_high / v.r1, axes="y", label=(state_x - 26, top, -12)),
    }  # fmt: skip
    square: Square | None = None
    bottom = state_y + high
    if q and o:
        uq = un
        placed[q.name] = replace(
            q, x=left, y=square_y, ux=THIN / q.cols, uy=uq, axes="y", label=(left + THIN, square_y - 18, -12)
        )
        placed[o.name] = replace(o, x=state_x, y=square_y, ux=ud, uy=uq, axes="-", label=(state_x, square_y + q.r1 * uq + 15, 0))  # fmt: skip
        bottom = square_y + q.r1 * uq
        square = Square(
            round(across, 2), round(square_y, 2), round(un, 4), q.rows, k.rows, _lens(tile, left), (across, bottom + 34)
        )
    small = min(0.66 * ud, (WIDTH - beside - 26) / d_v)
    before = (beside, state_y, d_v * small, d * small)
    for names, y in ((carried.start, TOP), (carried.end, square_y if q else state_y + high * 0.6)):
        _memory(panels, placed, [n for n in names if n in panels], beside, y, small, min(VALUES - 16, 64.0))
    if any(n in panels for n in carried.end):
        bottom = max(bottom, square_y + 80.0)
    floor = bottom + (60.0 if square else 46.0)
    floor = _in_a_row(panels, placed, [n for n in carried.chunks if n in panels], left, floor)
    corner = square_y + 8.0 if q else TOP
    for name, p in panels.items():  # anything else, small, beside the output
        if name not in placed:
            unit = round(min(14.0, (WIDTH - beside) / max(p.cols, 1)), 4)
            placed[name] = replace(
                p, x=beside, y=corner + 10, ux=unit, uy=12.0, axes="", label=(beside, corner + 6, 1.5)
            )
            corner += 20 + 12 * p.rows + 14
            floor = max(floor, corner)
    stage = CarriedStage(
        d, d_v, _rounded((state_x, state_y, wide, high)), _rounded((state_x + wide + 8, state_y, SUMS, high)),
        _rounded(before), _rounded((beside + d_v * small + 4, state_y, 18.0, d * small)), square,
        (state_x, state_y + high + 19), (left, bottom + 34), floor,
    )  # fmt: skip
    rounded = {
        n: replace(p, x=round(p.x, 2), y=round(p.y, 2), ux=round(p.ux, 4), uy=round(p.uy, 4)) for n, p in placed.items()
    }
    right = max([WIDTH, *(p.x + p.cols * p.ux for p in placed.values() if not p.transposed)])
    return rounded, right + 2, floor + 6, stage


def _overhang(panel: Panel, unit: float) -> int:
    """The last column to draw of a tensor whose last tile hangs over its edge: there is room for a few only."""
    return int(min(panel.c1, panel.cols + 50.0 / unit))


def _sum_stage(panels: Mapping[str, Panel], carried: Carried) -> tuple[dict[str, Panel], float, float, CarriedStage]:
    """What is added above the state, what was stored from it below, in the same columns."""
    x, size = 30.0, panels[carried.added].cols
    widest = max(p.c1 for p in panels.values())
    u = round(min((WIDTH - x) / widest, 26.0), 4)
    placed, y = dict[str, Panel](), 0.0

    def put(name: str) -> None:
        nonlocal y
        p = panels[name]
        placed[name] = replace(
            p, x=x, y=round(y + 24, 2), ux=u, uy=15.0, axes="y" if p.rows > 1 else "-", label=(x, y + 16, 0)
        )
        y += 24 + 15.0 * p.rows + 10

    for name in (n for n in (*carried.start, carried.added) if n in panels):
        put(name)
    before = _rounded((x, y + 24, size * u, 14.0))
    state = _rounded((x, y + 58, size * u, 22.0))
    y += 58 + 22 + 24
    doing = (x, y - 8)
    for name in (n for n in panels if n not in placed):
        put(name)
    stage = CarriedStage(1, size, state, NOTHING, before, NOTHING, None, doing, doing, y)
    return placed, max(x + widest * u, 420.0) + 4, y + 4, stage


def _rounded(rect: Rect) -> Rect:
    x, y, w, h = rect
    return round(x, 1), round(y, 1), round(w, 1), round(h, 1)


def _memory(
    panels: Mapping[str, Panel],
    placed: dict[str, Panel],
    names: list[str],
    x: float,
    y: float,
    unit: float,
    high: float,
) -> None:
    """A state in memory and the sum that belongs to it, upright beside it."""
    for name in names:
        p = panels[name]
        flat = len(p.said or p.shape) == 3 or p.rows == 1  # the sum of features
        rows = p.cols if flat else p.rows
        u = min(unit, high / max(rows, 1))
        if flat:
            placed[name] = replace(p, x=x, y=y + 16, ux=12.0, uy=u, transposed=True, axes="", label=(x + 6, y + 11, 1))
            x += 24
        else:
            placed[name] = replace(p, x=x, y=y + 16, ux=u, uy=u, axes="", label=(x, y + 11, 1.5))
            x += p.cols * u + 12


def _in_a_row(panels: Mapping[str, Panel], placed: dict[str, Panel], names: list[str], left: float, y: float) -> float:
    """One state for each chunk, side by side across the stage, each chunk's sum of features behind its state."""
    if not names:
        return y
    first = panels[names[0]]
    count = max(round((first.cols + BLOCK_GAP) / first.blocks[1]), 1)
    unit = min((WIDTH - left) / (count * first.blocks[1] + 2), 72.0 / first.rows, 6.0)
    y += 36
    for i, name in enumerate(names):
        p = panels[name]
        shift = 0.0 if i == 0 else (first.blocks[0] + 0.5) * unit
        label = (left, y - 22, 0) if i == 0 else (left + shift + 0.5 * unit, y + p.rows * unit + 12, 1)
        placed[name] = replace(p, x=left + shift, y=y, ux=unit, uy=unit, axes="", label=label)
    return y + first.rows * unit + 18


def _lens(tile: tuple[int, int] | None, left: float) -> Lens:
    """The weights of one chunk, enlarged, in the corner beside the values; no factors and no accumulator."""
    if tile is None:
        return Lens(NOTHING, NOTHING, NOTHING, NOTHING)
    high = VALUES - 22
    wide = min(max(high * tile[1] / tile[0], 40.0), 120.0)
    return Lens((left, TOP + 14, wide, high), NOTHING, NOTHING, NOTHING)
