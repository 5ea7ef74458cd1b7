"""The stage of attention: the square of scores in the middle, queries to its left, keys above, values below, output to its right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from checker.puzzle import Scores
from checker.view.layout import Panel

WIDTH = 640.0
HIGH = 262.0  # of the square, at most
LEFT, TOP, APART, STRIP = 30.0, 36.0, 12.0, 14.0
LENS = 128.0  # height of the tile of the moment, enlarged
THIN, THICK = 32.0, 64.0  # a tensor's D dimension on the stage


@dataclass(frozen=True)
class Lens:
    """Below the tensors: the tile of scores enlarged, the factors of its rows, the accumulator before and after."""

    tile: tuple[float, float, float, float]  # x, y, width, height
    alpha: tuple[float, float, float, float]
    before: tuple[float, float, float, float]
    after: tuple[float, float, float, float]


@dataclass(frozen=True)
class Square:
    """Where the scores stand: element (query, key) starts at ``(x + key * u, y + query * u)``."""

    x: float
    y: float
    u: float
    rows: int
    cols: int
    lens: Lens
    said: tuple[float, float]
    """Where the words about the square start."""

    @property
    def right(self) -> float:
        return self.x + self.cols * self.u

    @property
    def bottom(self) -> float:
        return self.y + self.rows * self.u


def attention_stage(
    bare: Sequence[Panel], scores: Scores, tile: tuple[int, int]
) -> tuple[list[Panel], float, float, Square]:
    """Place the tensors of attention: ``(panels in the given order, width, height, square)``. `tile` is BLOCK_M, BLOCK_N."""
    panels = {p.name: replace(p, r0=0, c0=0, r1=p.rows, c1=p.cols) for p in bare}
    q, k = panels[scores.queries], panels[scores.keys]
    sides, strips = len(q.sides), [n for n in scores.per_query if n in panels]
    u = min(HIGH / q.rows, 300.0 / k.rows, 8.0)
    while True:
        deep = min(max(q.cols * u, THIN), THICK)
        left = max(LEFT, 5.4 * len(q.about) + 4 - deep)
        square_x = left + deep + APART
        beside = square_x + k.rows * u + APART
        output_x = beside + sides * (q.side_width + 6) + len(strips) * (STRIP + 12) + (6 if sides or strips else 0)
        width = output_x + max(deep, 5.4 * len(panels[scores.output].about) + 4)
        if width <= WIDTH or u < 0.2:
            break
        u *= 0.97
    top = TOP + deep + APART
    bottom = top + q.rows * u
    along = round(u, 4)

    def down(name: str, x: float, wide: float, axes: str = "-") -> Panel:
        p = panels[name]
        return replace(p, x=round(x, 2), y=round(top, 2), ux=round(wide / p.cols, 4), uy=along, axes=axes, label=(x, top - 27, 12))  # fmt: skip

    def across(name: str, y: float, axes: str, said: tuple[float, float, float]) -> Panel:
        p = panels[name]
        return replace(p, x=round(square_x, 2), y=round(y, 2), ux=along, uy=round(deep / p.cols, 4), transposed=True, axes=axes, label=said)  # fmt: skip

    placed = {
        q.name: replace(down(q.name, left, deep, "y"), sides_x=round(beside, 1), label=(left + deep, top - 27, -12)),
        k.name: across(k.name, TOP, "x", (square_x, TOP - 20, 0)),
        scores.values: across(scores.values, bottom + APART, "-", (square_x, bottom + APART + deep + 15, 0)),
        scores.output: down(scores.output, output_x, deep),
    }
    strip_x = beside + sides * (q.side_width + 6) + 4
    for name in strips:
        placed[name] = replace(
            panels[name], x=round(strip_x, 2), y=round(top, 2), ux=STRIP, uy=along, transposed=True, axes="",
            label=(strip_x + STRIP / 2, top - 5, 1),
        )  # fmt: skip
        strip_x += STRIP + 12
    corner = bottom + APART + 14
    for name in panels:
        if name not in placed:
            p = panels[name]
            placed[name] = replace(p, x=8.0, y=round(corner, 2), ux=round(min(14.0, (square_x - 24) / max(p.cols, 1)), 4), uy=12.0, axes="", label=(8.0, corner - 4, 1.5))  # fmt: skip
            corner += 34
    floor = max(bottom + APART + deep + 24, corner + 4)
    lens = _lens(floor + 42, tile, q.cols)
    square = Square(round(square_x, 2), round(top, 2), along, q.rows, k.rows, lens, (beside, bottom + APART + 12))
    right = max(width, lens.after[0] + lens.after[2]) + 2
    return [placed[p.name] for p in bare], right, lens.tile[1] + LENS + 24, square


def _lens(y: float, tile: tuple[int, int], depth: int) -> Lens:
    high = LENS
    wide = min(max(high * tile[1] / tile[0], 40.0), 200.0)
    deep = min(max(high * depth / tile[0], 40.0), 100.0)
    x = LEFT
    alpha = x + wide + 40
    before = alpha + 52 + 44
    after = before + deep + 74
    return Lens((x, y, wide, high), (alpha, y, 52.0, high), (before, y, deep, high), (after, y, deep, high))
