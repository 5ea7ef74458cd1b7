"""Where each tensor of a film stands on the stage, and how large one element is drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from checker.simulator.trace import TensorInfo, Tile
from checker.view.theme import short

WIDTH = 640  # of the stage, in CSS pixels at most
GUTTER, HEAD, FOOT, GAP, SIDE_GAP = 26, 38, 10, 20, 16
DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}
Box = tuple[int, int, int, int]  # r0, r1, c0, c1
VALUES = 420  # cells with numbers in all tensors together, at most


@dataclass(frozen=True)
class Panel:
    """One tensor on the stage. Leading dimensions are flattened: one ``rows × cols`` slice is shown at a time.

    ``r0 … c1`` is the range that is drawn, which passes the tensor's edges where tiles do; `x`, `y` is where element
    (0, 0) would start, `ux`, `uy` the width and height of one element. `cells` says whether values are written in them.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    rows: int
    cols: int
    r0: int
    c0: int
    r1: int
    c1: int
    x: float = 0.0
    y: float = 0.0
    ux: float = 1.0
    uy: float = 1.0
    cells: bool = False
    sides: tuple[str, ...] = ()
    """Variables with a value for each row, which stand in columns to the right."""

    transposed: bool = False
    """Drawn with its rows from left to right: `ux` belongs to a row then, `uy` to a column."""
    axes: str = "xy"
    """Which edges have indices; ``""`` is a panel without even the index of its slice."""
    label: tuple[float, float, float] | None = None
    """Where the name stands, and how: see `panel_svg.label`; above the top left corner where nothing is said."""
    said: tuple[int, ...] | None = None
    """The shape to print, where it is not the one drawn."""
    sides_x: float | None = None
    blocks: tuple[int, int] = (0, 0)
    """``(columns of a block, columns from one block to the next)`` of a tensor whose third last dimension is laid out in a row."""

    @property
    def side_width(self) -> int:
        """Of one column: room for ``before → after`` where a row is high enough for text, else for a bar."""
        return 100 if self.texts else 52

    @property
    def beside(self) -> float:
        """Width of all columns and the space before them."""
        return SIDE_GAP + len(self.sides) * (self.side_width + 6) - 6 if self.sides else 0

    @property
    def texts(self) -> bool:
        """Whether the columns hold numbers."""
        return self.uy >= 14

    def side_x(self, column: int) -> float:
        """Left edge of a column."""
        left = self.x + self.c1 * self.ux + SIDE_GAP if self.sides_x is None else self.sides_x
        return round(left + column * (self.side_width + 6), 1)

    @property
    def slices(self) -> int:
        return math.prod(self.shape[:-2]) if len(self.shape) > 2 else 1

    @property
    def title(self) -> str:
        return short(self.name)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height with labels."""
        about, name = (
            5.8 * len(self.about),
            7.6 * (len(self.title) + (2 + 3 * len(self.shape[:-2]) if self.slices > 1 else 0)),
        )
        text = max(about, name) if len(self.shape) > 2 else about + name + 14
        return GUTTER + max((self.c1 - self.c0) * self.ux + self.beside, text), self.head + (
            self.r1 - self.r0
        ) * self.uy + FOOT

    @property
    def head(self) -> float:
        """Room above for the name; tensors of three and more dimensions say their shape on a line of its own."""
        return HEAD + (14 if len(self.shape) > 2 else 0)

    @property
    def about(self) -> str:
        return f"[{', '.join(map(str, self.said or self.shape))}] {DTYPES.get(self.dtype, self.dtype)}"

    @property
    def edge(self) -> float:
        """Left of what is drawn."""
        return self.x + (self.r0 if self.transposed else self.c0) * self.ux

    @property
    def top(self) -> float:
        return self.y + (self.c0 if self.transposed else self.r0) * self.uy


@dataclass(frozen=True)
class Flat:
    """A tile in the plane of its panel: which slice, the whole box, the active box, and runs ``(row, c0, c1)`` if ragged."""

    slice: int
    box: tuple[int, int, int, int]  # r0, r1, c0, c1
    active: tuple[int, int, int, int] | None
    runs: tuple[tuple[int, int, int], ...] | None
    label: str


def in_a_row(tile: Tile, shape: Sequence[int], pitch: int) -> Tile:
    """A tile of [..., C, R, W] in the plane [..., R, C * pitch] where the C blocks stand side by side.

    What hangs over the edge of a block is cut: there stands the next one.
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
        inside = np.zeros(shape, bool)  # several blocks: what lies between them is not touched
        inside[tuple(slice(*side) for side in tile.active)] = True
        ragged = tuple(np.flatnonzero(inside).tolist())
    elements = None
    if ragged is not None:
        *leads, chunk, row, col = np.unravel_index(np.array(ragged, dtype=np.int64), tuple(shape))
        flat = np.ravel_multi_index((*leads, row, chunk * pitch + col), (*shape[:-3], shape[-2], shape[-3] * pitch))
        elements = tuple(np.sort(flat).tolist())
    return replace(tile, box=box, active=active, elements=elements)


def plane(shape: Sequence[int]) -> tuple[int, int]:
    """Rows and columns that a tensor is drawn with; a vector is one row."""
    return (shape[-2] if len(shape) > 1 else 1, shape[-1] if shape else 1)


def _flat_box(box: Sequence[tuple[int, int]]) -> tuple[int, int, int, int]:
    rows = box[-2] if len(box) > 1 else (0, 1)
    cols = box[-1] if box else (0, 1)
    return (rows[0], rows[1], cols[0], cols[1])


def _index(box: Sequence[tuple[int, int]]) -> str:
    return "[" + ", ".join(str(a) if b == a + 1 else f"{a}:{b}" for a, b in box) + "]"


def flatten(tile: Tile, shape: Sequence[int]) -> Flat:
    """A tile of any rank in the plane of its last two dimensions."""
    rows, cols = plane(shape)
    slice_ = 0
    for (start, _), extent in zip(tile.box[:-2], shape[:-2], strict=False):
        slice_ = slice_ * extent + min(max(start, 0), max(extent - 1, 0))
    runs: list[tuple[int, int, int]] | None = None
    if tile.elements is not None:
        runs = []
        inside = [e - slice_ * rows * cols for e in tile.elements if 0 <= e - slice_ * rows * cols < rows * cols]
        for row, col in (divmod(e, cols) for e in inside):
            if runs and runs[-1][0] == row and runs[-1][2] == col:
                runs[-1] = (row, runs[-1][1], col + 1)
            else:
                runs.append((row, col, col + 1))
    active = None if tile.active is None else _flat_box(tile.active)
    label = _index(tile.active or tile.box)
    if runs is not None:
        label += f" ({len(tile.elements or ())} scattered elements)"
    return Flat(slice_, _flat_box(tile.box), active, None if runs is None else tuple(runs), label)


def panels(
    tensors: Mapping[str, TensorInfo],
    tiles: Mapping[str, Sequence[Flat]],
    *,
    values: frozenset[str],
    sides: Mapping[str, tuple[str, ...]],
) -> tuple[list[Panel], float, float]:
    """Place the tensors on the stage: ``(panels, width, height)``. `sides` are variables shown beside a tensor's rows."""
    bare = [
        replace(bare_panel(name, info, tiles.get(name, ())), sides=sides.get(name, ()))
        for name, info in tensors.items()
    ]
    if not bare:
        return [], WIDTH, 40.0
    written = sum(p.rows * p.cols for p in bare) <= VALUES and bool(values)
    widest = max(p.c1 - p.c0 for p in bare)
    if written and GUTTER + widest * 25 <= WIDTH:
        return _with_cells(bare, values)
    return _to_scale(bare)


def bare_panel(name: str, info: TensorInfo, tiles: Sequence[Flat]) -> Panel:
    rows, cols = plane(info.shape)
    # a tile far outside the tensor must not push everything else off the stage
    down, right = max(rows // 2, 4 if len(info.shape) > 1 else 0), max(cols, 16)
    r1 = min(max([rows, *(t.box[1] for t in tiles)]), rows + down)
    c1 = min(max([cols, *(t.box[3] for t in tiles)]), cols + right)
    r0 = max(min([0, *(t.box[0] for t in tiles)]), -2)
    c0 = max(min([0, *(t.box[2] for t in tiles)]), -2)
    return Panel(name, tuple(info.shape), info.dtype, rows, cols, r0, c0, r1, c1)


def _flow(bare: Sequence[Panel]) -> tuple[list[Panel], float, float, int]:
    """Left to right, then the next row: placed panels, width, height, number of rows."""
    placed, x, y, tall, wide, lines = [], 0.0, 0.0, 0.0, 0.0, 1
    for panel in bare:
        w, h = panel.size
        if x and x + w > WIDTH:
            x, y, tall, lines = 0.0, y + tall, 0.0, lines + 1
        placed.append(
            replace(
                panel, x=round(x + GUTTER - panel.c0 * panel.ux, 2), y=round(y + panel.head - panel.r0 * panel.uy, 2)
            )
        )
        wide, tall, x = max(wide, x + w), max(tall, h), x + w + GAP
    return placed, wide, y + tall, lines


def _with_cells(bare: Sequence[Panel], values: frozenset[str]) -> tuple[list[Panel], float, float]:
    tallest = max(p.r1 - p.r0 for p in bare)
    best: tuple[int, list[Panel], float, float] | None = None
    for ux in (46, 42, 38, 36, 34, 32, 30, 28, 25):
        uy = 26 if tallest <= 10 else 20
        sized = [replace(p, ux=ux, uy=uy, cells=p.name in values) for p in bare]
        placed, wide, high, lines = _flow(sized)
        fits = wide <= WIDTH + 1
        if fits and (best is None or (lines < best[0] and ux >= 32)):
            best = (lines, placed, wide, high)
    if best is None:
        return _to_scale(bare)
    return best[1], best[2] + 2, best[3]


def _to_scale(bare: Sequence[Panel]) -> tuple[list[Panel], float, float]:
    """No numbers: the largest common scale that fits; thin tensors are drawn thicker, so that they can be seen."""
    widest = max(p.c1 - p.c0 for p in bare)
    beside = max(replace(p, uy=99.0).beside for p in bare)
    u = min(14.0, (WIDTH - GUTTER - 2 - beside) / widest)
    while True:
        sized = [replace(p, ux=round(u, 4), uy=round(max(u, min(16.0, 44 / (p.r1 - p.r0)), 1.2), 4)) for p in bare]
        placed, wide, high, _ = _flow(sized)
        if high <= 400 or u < 0.4:
            return placed, wide + 2, high
        u *= 0.93


def joined(boxes: Iterable[Box]) -> list[Box]:
    """The same area in fewer boxes: neighbours in a row are joined, then neighbours in a column."""
    for across in (True, False):
        out: list[Box] = []
        for box in sorted(set(boxes), key=lambda b: b if across else (b[2], b[3], b[0], b[1])):
            last = out[-1] if out else None
            if last and across and last[:2] == box[:2] and last[3] >= box[2]:
                out[-1] = (*last[:3], max(last[3], box[3]))
            elif last and not across and last[2:] == box[2:] and last[1] >= box[0]:
                out[-1] = (last[0], max(last[1], box[1]), *last[2:])
            else:
                out.append(box)
        boxes = out
    return list(boxes)
