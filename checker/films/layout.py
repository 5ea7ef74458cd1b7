"""Where everything is on the stage: things that share an axis are beside or above each other, aligned at one scale.

A diagram with bands is a grid: each axis has a strip across or down, and a thing is where the strips of its two axes cross.
Without bands, tensors flow like words on a line.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from checker.films.diagram import Band, Diagram, Drawn
from checker.films.steps import Box, FlatTile, Plane
from checker.films.svg import Rect
from checker.phrases import short

WIDTH = 640.0  # of the stage, in CSS pixels at most
GUTTER, HEAD, FOOT, GAP, SIDE_GAP, APART = 26, 38, 10, 20, 16, 14
VALUES = 420  # cells with numbers in all tensors together, at most
LENS = 112.0  # height of the enlarged pictures
ARROWS = 40.0  # room for the arrows from a table to its pages
DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}


@dataclass(frozen=True)
class PlacedTensor:
    """One tensor on the stage; one ``rows x cols`` slice of its plane is shown at a time.

    ``r0 … c1`` is the range that is drawn, which passes the tensor's edges where tiles do; `x`, `y` is where element
    (0, 0) starts, `ux`, `uy` the width and height of one element, of a `transposed` one those of a row and of a column.
    """

    name: str
    plane: Plane
    shape: tuple[int, ...]
    dtype: str
    r0: int
    c0: int
    r1: int
    c1: int
    x: float = 0.0
    y: float = 0.0
    ux: float = 1.0
    uy: float = 1.0
    transposed: bool = False
    numbers: str = "xy"
    """Which edges have indices."""
    lines: int = 1
    """Of its label: 0 is a small name, centred on something narrow."""
    cells: bool = False
    """Whether values are written in its elements."""
    columns: tuple[str, ...] = ()
    """Variables with a value for each row, beside it."""
    columns_x: float = 0.0
    foot: float = FOOT
    """Room below it."""
    head: float = 5.0
    """From its upper edge up to the line of its label that is next to it."""

    @property
    def rows(self) -> int:
        return self.plane.rows

    @property
    def cols(self) -> int:
        return self.plane.columns

    @property
    def about(self) -> str:
        return f"[{', '.join(map(str, self.shape))}] {DTYPES.get(self.dtype, self.dtype)}"

    @property
    def title(self) -> str:
        """With an index of its slice, as long as it gets."""
        return short(self.name) + (
            "[" + ", ".join("0" for _ in self.plane.shape[:-2]) + "]" if self.plane.slices > 1 else ""
        )

    @property
    def extents(self) -> tuple[int, int]:
        """Across and down, in elements."""
        high, wide = self.r1 - self.r0, self.c1 - self.c0
        return (high, wide) if self.transposed else (wide, high)

    @property
    def drawn_size(self) -> tuple[float, float]:
        return self.extents[0] * self.ux, self.extents[1] * self.uy

    @property
    def start(self) -> tuple[float, float]:
        """From element (0, 0) to the upper left corner of the drawing, in pixels."""
        across, down = (self.r0, self.c0) if self.transposed else (self.c0, self.r0)
        return across * self.ux, down * self.uy

    @property
    def edge(self) -> float:
        """The left edge of the drawing."""
        return self.x + self.start[0]

    @property
    def top(self) -> float:
        return self.y + self.start[1]

    @property
    def texts(self) -> bool:
        """Whether the columns beside it hold numbers: rows are high enough for them."""
        return self.uy >= 14

    @property
    def column_width(self) -> float:
        """Of one column: room for ``before → after``, or for a bar."""
        return 100.0 if self.texts else 52.0

    @property
    def beside(self) -> float:
        """Width of all columns and the space before them."""
        return SIDE_GAP + len(self.columns) * (self.column_width + 6) - 6 if self.columns else 0.0

    def column_x(self, column: int) -> float:
        return round(self.columns_x + column * (self.column_width + 6), 1)

    def place(self, box: Box, thin: float = 2.0) -> Rect:
        """A box of elements in the stage's pixels, cut to what is drawn, never thinner than 2."""
        r0, r1 = (min(max(r, self.r0), self.r1) for r in box[:2])
        c0, c1 = (min(max(c, self.c0), self.c1) for c in box[2:])
        if self.transposed:
            r0, r1, c0, c1 = c0, c1, r0, r1
        x, y = self.x + c0 * self.ux, self.y + r0 * self.uy
        return (
            round(x, 1),
            round(y, 1),
            round(max((c1 - c0) * self.ux, thin), 1),
            round(max((r1 - r0) * self.uy, thin), 1),
        )

    @property
    def bodies(self) -> list[Rect]:
        """The whole tensor, or each of its blocks if they are side by side."""
        wide, pitch = self.plane.blocks
        if not wide:
            return [self.place((0, self.rows, 0, self.cols))]
        return [self.place((0, self.rows, c, c + wide)) for c in range(0, self.cols, pitch)]


@dataclass
class Layout:
    """The places of tensors and of on-chip values."""

    tensors: list[PlacedTensor]
    width: float
    height: float
    square: Rect | None = None
    sides: tuple[int, int] = (0, 0)
    """Rows and columns of the square, in elements."""
    lens: list[Rect] = field(default_factory=list)
    state: dict[str, Rect] = field(default_factory=dict)
    """``"after"``, ``"before"`` and, where the state has a vector beside it, ``"sums"``, ``"sums before"``."""
    gather: Rect | None = None
    """All pages that a table leads to."""
    action_at: tuple[float, float] = (0.0, 0.0)
    """Where the words about what the step does start."""
    about: tuple[float, float] = (0.0, 0.0)
    """Where the lines about all of it start."""

    def tensor(self, name: str) -> PlacedTensor:
        return next(t for t in self.tensors if t.name == name)


def unplaced(name: str, plane: Plane, shape: tuple[int, ...], dtype: str, tiles: Sequence[FlatTile]) -> PlacedTensor:
    """A tensor and the range that is drawn of it: a tile far outside must not push everything else off the stage."""
    rows, cols = plane.rows, plane.columns
    if plane.blocks[0]:
        return PlacedTensor(name, plane, shape, dtype, 0, 0, rows, cols)
    down, right = max(rows // 2, 4 if len(shape) > 1 else 0), max(cols, 16)
    r1 = min(max([rows, *(t.box[1] for t in tiles)]), rows + down)
    c1 = min(max([cols, *(t.box[3] for t in tiles)]), cols + right)
    r0, c0 = (max(min([0, *(t.box[i] for t in tiles)]), -2) for i in (0, 2))
    return PlacedTensor(name, plane, shape, dtype, r0, c0, r1, c1)


# ---- without bands -----------------------------------------------------------------------------------------------------


def flowing(tensors: Sequence[PlacedTensor], diagram: Diagram, values: frozenset[str]) -> Layout:
    """One after another, in several lines where one is too short; a vector along the rows of a matrix is drawn upright."""
    down = {d.axes[0] for d in diagram.tensors.values() if len(d.axes) == 2}
    drawn = [(t, diagram.tensors.get(t.name)) for t in tensors]
    tensors = [replace(t, transposed=d is not None and len(d.axes) == 1 and d.axes[0] in down) for t, d in drawn]
    tensors = [replace(t, lines=0 if t.transposed else 2 if len(t.shape) > 2 else 1) for t in tensors]
    if not tensors:
        return Layout([], WIDTH, 40.0)
    written = sum(t.rows * t.cols for t in tensors) <= VALUES and bool(values)
    widest = max(t.extents[0] for t in tensors)
    layout = _with_values(tensors, values) if written and GUTTER + widest * 28 <= WIDTH else None
    return layout or _to_scale(tensors)


def _size(t: PlacedTensor) -> tuple[float, float, float]:
    """Width and height with labels and columns, and the room above for the label."""
    about, name = 5.8 * len(t.about), 7.6 * len(t.title)
    label = {0: 0.0, 1: about + name + 14, 2: max(about, name)}[t.lines]
    head = HEAD + (14 if t.lines == 2 else 0)
    wide, high = t.drawn_size
    return GUTTER + max(wide + t.beside, label), head + high + t.foot, head


def _flow(tensors: Iterable[PlacedTensor]) -> tuple[Layout, int]:
    """Left to right, then the next line; and how many lines there are."""
    placed, x, y, tall, wide, lines = list[PlacedTensor](), 0.0, 0.0, 0.0, 0.0, 1
    for t in tensors:
        w, h, head = _size(t)
        if x and x + w > WIDTH:
            x, y, tall, lines = 0.0, y + tall, 0.0, lines + 1
        t = replace(t, x=round(x + GUTTER - t.start[0], 2), y=round(y + head - t.start[1], 2), head=21)
        t = replace(t, columns_x=round(t.edge + t.drawn_size[0] + SIDE_GAP, 1))
        placed.append(t)
        wide, tall, x = max(wide, x + w), max(tall, h), x + w + GAP
    return Layout(placed, wide + 2, y + tall), lines


def _with_values(tensors: Sequence[PlacedTensor], values: frozenset[str]) -> Layout | None:
    tallest = max(t.extents[1] for t in tensors)
    uy = 26 if tallest <= 10 else 20
    narrow = 28 if any(t.transposed for t in tensors) else 32  # a vector beside a matrix should stay on its line
    best: tuple[Layout, int] | None = None
    for ux in (46, 42, 38, 36, 34, 32, 30, 28):
        layout, lines = _flow(
            replace(t, ux=max(ux, 40) if t.transposed else ux, uy=uy, cells=t.name in values) for t in tensors
        )
        if layout.width <= WIDTH + 3 and (best is None or (lines < best[1] and ux >= narrow)):
            best = (layout, lines)
    return best[0] if best else None


def _to_scale(tensors: Sequence[PlacedTensor]) -> Layout:
    """No numbers: the largest common scale that fits; thin tensors are drawn thicker, so that they can be seen."""
    widest = (
        max(t.extents[0] for t in tensors if not t.transposed or len(tensors) == 1)
        if not all(t.transposed for t in tensors)
        else 4
    )
    beside = max(replace(t, uy=99.0).beside for t in tensors)
    u = min(14.0, (WIDTH - GUTTER - 2 - beside) / widest)
    while True:
        sized = (
            replace(t, ux=16.0 if t.transposed else round(u, 4), uy=round(max(u, min(16.0, 44 / t.extents[1]), 1.2), 4))
            for t in tensors
        )
        layout, _ = _flow(sized)
        if layout.height <= 400 or u < 0.4:
            return layout
        u *= 0.93


# ---- with bands --------------------------------------------------------------------------------------------------------


@dataclass
class _Item:
    """Something in a cell of the grid, in pixels."""

    key: str
    wide: float
    high: float
    label: float = 0.0
    """Width that its label needs."""
    head: float = 18.0
    tensor: PlacedTensor | None = None
    stacked: bool = False
    """Whether it is placed below the item before it in its cell, and not to its right."""
    x: float = 0.0
    y: float = 0.0

    @property
    def rect(self) -> Rect:
        return round(self.x, 1), round(self.y, 1), round(self.wide, 1), round(self.high, 1)


Cell = tuple[int, int]


class _Grid:
    """Sizes of the bands, and the things in the cells where they cross."""

    def __init__(self, diagram: Diagram, tensors: Sequence[PlacedTensor], total: bool, shrink: float) -> None:
        self.diagram, self.total = diagram, total
        self.tensors = {
            t.name: replace(t, transposed=self._is_transposed(diagram.tensors.get(t.name))) for t in tensors
        }
        self.down = {b.name: i for i, b in enumerate(diagram.down)}
        self.across = {b.name: i for i, b in enumerate(diagram.across)}
        self.unit_down = [self._unit(b, 1, 1.0) for b in diagram.down]
        self.unit_across = [self._unit(b, 0, shrink) for b in diagram.across]
        for cell in filter(None, (self._square_cell(), self._state_cell())):  # heat maps on chip have square cells
            least = min(self.unit_down[cell[0]], self.unit_across[cell[1]])
            if not (diagram.state and diagram.state.flat):
                self.unit_down[cell[0]] = self.unit_across[cell[1]] = least
        self.cells: dict[Cell, list[_Item]] = {}
        self.rows_of_blocks: dict[int, list[_Item]] = {}
        self._fill()

    def _is_transposed(self, drawn: Drawn | None) -> bool:
        if drawn is None:
            return False
        names = [{b.name for b in bands} for bands in (self.diagram.down, self.diagram.across)]
        if len(drawn.axes) == 1:
            return drawn.axes[0] not in (drawn.at[1:] if drawn.at else names[1] - names[0])
        if drawn.at:
            return drawn.at[0] == drawn.axes[1] and drawn.axes[0] != drawn.axes[1]
        return drawn.axes[0] not in names[0] or drawn.axes[1] not in names[1]

    def _axes(self, name: str) -> tuple[str, str]:
        """The axis across and the axis down of a tensor as it is drawn; a vector has none in its other direction."""
        drawn = self.diagram.tensors[name]
        first, second = (*drawn.axes, "")[:2] if len(drawn.axes) == 2 else ("", drawn.axes[0])
        return (first, second) if self.tensors[name].transposed else (second, first)

    def _cell(self, name: str) -> Cell:
        drawn = self.diagram.tensors.get(name)
        if drawn is None:  # what the course does not speak of
            taken = [self._cell(n) for n in self.tensors if n in self.diagram.tensors]
            free = [(d, a) for d in reversed(range(len(self.down))) for a in range(len(self.across))]
            return next(
                (c for c in free if c not in taken and c[0] in {t[0] for t in taken}),
                (len(self.down) - 1, len(self.across) - 1),
            )
        across, down = self._axes(name)
        at = drawn.at or (down, across)
        for place, bands in zip(at, (self.down, self.across), strict=True):
            if place not in bands:
                raise KeyError(
                    f"{name} is drawn at {place!r}, and the diagram has only the bands {', '.join(bands)} there"
                )
        return self.down[at[0]], self.across[at[1]]

    def _unit(self, band: Band, direction: int, shrink: float) -> float:
        """Pixels of one element: what has the band's axis in that direction, and is not an inset, has it in common."""
        extents = [
            t.extents[direction]
            for n, t in self.tensors.items()
            if (d := self.diagram.tensors.get(n))
            and not (d.inset or d.in_a_row)
            and self._axes(n)[direction] == band.name
        ]
        return min(shrink * band.room / max([*extents, 1]), band.unit)

    def _square_cell(self) -> Cell | None:
        sides = self.sides
        return (self.down[self._axes(sides[0])[1]], self.across[self._axes(sides[1])[0]]) if sides else None

    @property
    def sides(self) -> tuple[str, str] | None:
        """The tensors whose rows are the sides of the square."""
        square, state = self.diagram.square, self.diagram.state
        sides = (square.rows, square.columns) if square else state.square if state else None
        return sides if sides and set(sides) <= set(self.tensors) else None

    def _state_cell(self) -> Cell | None:
        state = self.diagram.state
        return (self.down[state.at[0]], self.across[state.at[1]]) if state else None

    def _fill(self) -> None:
        sides, state = self.sides, self.diagram.state
        if sides and (cell := self._square_cell()):
            down, across = (self.tensors[n].rows for n in sides)
            self._put(cell, _Item("square", across * self.unit_across[cell[1]], down * self.unit_down[cell[0]], head=0))
        if state and (cell := self._state_cell()):
            rows = 1 if state.flat else self.tensors[state.rows].cols
            wide, high = self.tensors[state.columns].cols * self.unit_across[cell[1]], rows * self.unit_down[cell[0]]
            before = (self.down[state.before_at[0]], self.across[state.before_at[1]])
            self._put(cell, _Item("after", wide, 22.0 if state.flat else high, 6.6 * len(state.title) - 30))
            if self.total:
                self._put(cell, _Item("sums", 26.0, high, 8))
            self._put(before, _Item("before", wide, 14.0 if state.flat else high, 92))
            if self.total:
                self._put(before, _Item("sums before", 18.0, high))
        if gather := self.diagram.gather:
            down, across = self.down[gather.at[0]], self.across[gather.at[1]]
            room = self.diagram.across[across].room, self.diagram.down[down].room
            self._put((down, across), _Item("gather", *room, head=ARROWS))
        running = self.diagram.running
        for name, t in self.tensors.items():
            if t.columns and running and name == running.rows and "" in self.across:
                down, tall = self._cell(name)[0], t.rows * self.unit_down[self._cell(name)[0]]
                width = replace(t, uy=self.unit_down[down]).column_width
                for column in t.columns:
                    self._put((down, self.across[""]), _Item("column " + column, width, tall))
        for name, t in self.tensors.items():
            self._put_tensor(name, t)

    def _put(self, cell: Cell, item: _Item) -> None:
        self.cells.setdefault(cell, []).append(item)

    def _put_tensor(self, name: str, t: PlacedTensor) -> None:
        drawn, cell = self.diagram.tensors.get(name), self._cell(name)
        across, down = t.extents
        if drawn is not None and drawn.in_a_row:
            self.rows_of_blocks.setdefault(cell[0], []).append(_Item(name, 0, 0, tensor=t))
            return
        if drawn is None or drawn.inset:
            t = replace(t, r0=0, c0=0, r1=t.rows, c1=t.cols)
            across, down = t.extents
            ux = uy = min(64.0 / down, 90.0 / across, 14.0)
            ux, uy = (12.0, uy) if across == 1 else (ux, 12.0 if down == 1 else uy)
        else:
            axes = self._axes(name)
            ux = (
                self.unit_across[cell[1]]
                if axes[0] == self.diagram.across[cell[1]].name and axes[0]
                else self.diagram.across[cell[1]].room / across
            )
            uy = (
                self.unit_down[cell[0]]
                if axes[1] == self.diagram.down[cell[0]].name and axes[1]
                else self.diagram.down[cell[0]].unit
            )
        t = replace(t, ux=round(ux, 4), uy=round(uy, 4))
        wide, high = t.drawn_size
        about, title = 5.4 * len(t.about), 7.6 * len(t.title)
        lines = 0 if drawn is None or drawn.inset or wide < 20 else 1 if wide >= about + title + 10 else 2
        label = {0: 6.6 * len(t.title), 1: 0.0, 2: max(about, title)}[lines]
        head = {0: 18.0, 1: 22.0, 2: 34.0}[lines]
        self._put(
            cell, _Item(name, wide, high, label, head, replace(t, lines=lines), stacked=t.transposed and lines > 0)
        )


def banded(tensors: Sequence[PlacedTensor], diagram: Diagram, lens: Sequence[float], total: bool) -> Layout:
    """The grid, with bands as large as their room and the stage allow. `lens` are widths of enlarged pictures; `total`: the state has a vector."""
    shrink = 1.0
    while True:
        grid = _Grid(diagram, tensors, total, shrink)
        layout = _arrange(grid, lens)
        if layout.width <= WIDTH + 4 or shrink < 0.3:
            return layout
        shrink *= 0.96


def _arrange(grid: _Grid, lens: Sequence[float]) -> Layout:
    diagram = grid.diagram
    # indices along a band are at the first thing in it
    first_down = {d: min(a for c, a in grid.cells if c == d) for d, _ in grid.cells}
    first_across = {a: min(d for d, c in grid.cells if c == a) for _, a in grid.cells}
    wide, high, heads = [0.0] * len(diagram.across), [0.0] * len(diagram.down), [0.0] * len(diagram.down)
    for (d, a), items in grid.cells.items():
        beside = [i for i in items if not i.stacked]
        stacked = [i for i in items if i.stacked]
        reach: list[float] = [0.0, *itertools.accumulate(max(i.wide, i.label * bool(i.tensor)) + 8 for i in beside)]
        wide[a] = max(
            [
                wide[a],
                reach[-1] - 8,
                *(start + i.label for start, i in zip(reach, beside, strict=False)),
                *(max(i.wide, i.label) for i in stacked),
            ]
        )
        numbers = 12.0 if first_across[a] == d and _numbered(grid, (d, a), 0) else 0.0
        heads[d] = max([heads[d], *(i.head + numbers for i in beside), *(i.head + numbers for i in stacked[:1])])
        high[d] = max(
            [high[d], *(i.high for i in beside), sum(i.high for i in stacked) + sum(i.head for i in stacked[1:])]
        )
    state = grid._state_cell()
    x, lefts = 30.0, []
    for width in wide:
        lefts.append(x)
        x += width + APART if width else 0.0
    y, tops, action_at = 0.0, [], (0.0, 0.0)
    for d in range(len(high)):
        blocks = grid.rows_of_blocks.get(d)
        if blocks:
            high[d], heads[d] = _block_row(grid, d, blocks, y + 36.0), 36.0
        elif not high[d]:
            tops.append(y)
            continue
        y += heads[d]
        tops.append(y)
        y += high[d] + 8
        if state and state[0] == d:
            action_at = (lefts[state[1]], y + 10)
            y += 18
    width = max(x - APART, 420.0 if diagram.state and diagram.state.flat else 0.0) + 4
    layout = Layout([], width, y, action_at=action_at)
    for (d, a), items in grid.cells.items():
        _place_items(items, lefts[a], tops[d])
    named = {item.key: item for items in grid.cells.values() for item in items}
    _finish(grid, layout, named, first_down, first_across)
    _place_lens(grid, layout, lens, lefts, tops, high)
    _place_words(grid, layout, tops)
    return layout


def _numbered(grid: _Grid, cell: Cell, direction: int) -> bool:
    """Whether the things in a cell lie along a band that has indices."""
    band = (grid.diagram.across[cell[1]], grid.diagram.down[cell[0]])[direction]
    declared = [i for i in grid.cells[cell] if i.key in grid.diagram.tensors and i.tensor and i.tensor.lines]
    return band.numbered and any(grid._axes(i.key)[direction] == band.name for i in declared)


def _place_items(items: Sequence[_Item], left: float, top: float) -> None:
    x, y = left, top
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.x, item.y = x, y
        if item.stacked:
            y += item.high + (following.head if following else 0.0)
        else:
            item.x = x + max(0.0, (item.label - item.wide) / 2) if item.tensor and item.tensor.lines == 0 else x
            x += max(item.wide, item.label * bool(item.tensor)) + 8


def _finish(
    grid: _Grid,
    layout: Layout,
    named: Mapping[str, _Item],
    first_down: Mapping[int, int],
    first_across: Mapping[int, int],
) -> None:
    """Positions of tensors, their columns, and on-chip values."""
    for name in grid.tensors:
        item = named.get(name)
        if item is None or item.tensor is None:
            continue
        t, cell, numbers = item.tensor, grid._cell(name), ""
        if name in grid.diagram.tensors and t.lines and not grid.diagram.tensors[name].inset:
            lead = next(i for i in grid.cells[cell] if i.tensor) is item
            numbers += "x" if lead and first_across[cell[1]] == cell[0] and _numbered(grid, cell, 0) else ""
            tall = t.rows > 1 if not t.transposed else t.cols > 1
            numbers += "y" if lead and first_down[cell[0]] == cell[1] and _numbered(grid, cell, 1) and tall else ""
        t = replace(t, x=round(item.x - t.start[0], 2), y=round(item.y - t.start[1], 2), numbers=numbers)
        t = replace(t, head=18 if "x" in numbers else 6)
        first = next((named["column " + c] for c in t.columns if "column " + c in named), None)
        layout.tensors.append(replace(t, columns_x=first.x if first else t.edge + t.drawn_size[0] + SIDE_GAP))
    for blocks in grid.rows_of_blocks.values():
        layout.tensors += [item.tensor for item in blocks if item.tensor]
    order = list(grid.tensors)
    layout.tensors.sort(key=lambda t: order.index(t.name))
    if grid.sides:
        down, across = (grid.tensors[n].rows for n in grid.sides)
        layout.square, layout.sides = named["square"].rect, (down, across)
    layout.gather = named["gather"].rect if "gather" in named else None
    layout.state = {key: named[key].rect for key in ("after", "before", "sums", "sums before") if key in named}


def _block_row(grid: _Grid, d: int, blocks: list[_Item], y: float) -> float:
    """One block for each index, side by side across the stage, a vector's in the gap behind the block before; the height."""
    band, left = grid.diagram.down[d], 30.0
    first = blocks[0].tensor
    assert first is not None
    wide, pitch = first.plane.blocks
    count = max(round((first.cols - wide) / pitch) + 1, 1)
    unit = min((WIDTH - left) / (count * pitch + 2), band.room / first.rows, band.unit)
    for i, item in enumerate(blocks):
        assert item.tensor is not None
        shift = 0.0 if i == 0 else (wide + 0.5) * unit
        item.tensor = replace(
            item.tensor,
            x=left + shift,
            y=y,
            ux=unit,
            uy=unit,
            transposed=False,
            numbers="",
            lines=1 - i,
            head=18 if i == 0 else -unit * first.rows - 16,
        )
    return first.rows * unit + (16.0 if len(blocks) > 1 else 0.0)


def _place_lens(
    grid: _Grid,
    layout: Layout,
    lens: Sequence[float],
    lefts: Sequence[float],
    tops: Sequence[float],
    high: Sequence[float],
) -> None:
    """The enlarged pictures: in the free corner above and to the left, where they fit into it, else below everything."""
    if not lens:
        return
    taken = [a for d, a in grid.cells if d == 0]
    corner = (lefts[min(taken)] if taken else 0.0) - 60
    needed = sum(lens) + 60.0 * (len(lens) - 1)
    if corner > 30 + needed * (high[0] - 6) / LENS and high[0] >= 60:
        scale, x, y = (high[0] - 6) / LENS, 30.0, tops[0]
    else:
        scale, x, y = 1.0, 30.0, layout.height + 46
        layout.height = y + LENS + 24
    for width in lens:
        layout.lens.append((round(x, 1), round(y, 1), round(width * scale, 1), round(LENS * scale, 1)))
        x += width * scale + 60
    layout.width = max(layout.width, x - 60 + 4)


def _place_words(grid: _Grid, layout: Layout, tops: Sequence[float]) -> None:
    """General lines: beside the last row of things if there is room, else below."""
    if grid.diagram.square and not grid.diagram.state:
        last = max(d for d, _ in grid.cells)
        beside = max(i.x + max(i.wide, i.label) for (d, _), items in grid.cells.items() if d == last for i in items)
        layout.about = (beside + APART, tops[last] + 12)
        layout.width = max(layout.width, beside + APART + 160)
    elif grid.diagram.state and not grid.diagram.state.flat:
        longest = max(len(grid.diagram.state.about), len(grid.diagram.state.unread))
        layout.about = (30.0, layout.height + 14)
        layout.width = max(layout.width, min(30 + 5.8 * longest, WIDTH))
        layout.height += 36
