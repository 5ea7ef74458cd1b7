"""The stage: tensors with their tiles, and on-chip values between them. What never changes, and what each step changes."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from markupsafe import Markup

from checker.films.diagram import KeptState, RunningState, Square
from checker.films.film_data import FilmData, elements
from checker.films.gather import gather
from checker.films.kept_state import StateSteps
from checker.films.layout import PlacedTensor
from checker.films.scene import Scenes, Value
from checker.films.square import Pair, Visits
from checker.films.state import held_rows, levels, vector
from checker.films.steps import Box, Step, by_program, colon, joined_boxes
from checker.films.svg import (
    NOTHING,
    WHOLE,
    Rect,
    bars,
    cells,
    hatch,
    line,
    path,
    pixels,
    plus_sign,
    rect,
    rects,
    strikes,
    text,
)
from checker.phrases import short
from checker.view.formats import number

Key = tuple[object, ...]
Slots = dict[int, dict[Key, None]]
"""The slots of each slice, in order."""


def stage(film: FilmData, scenes: Scenes) -> Markup:
    """Everything on the stage, from the lowest layer to the highest. Each step's changes go into `scenes`."""
    out = NOTHING
    if film.layout.square:
        out += _square(film, film.layout.square, scenes)
    for tensor in film.layout.tensors:
        out += _tensor(film, tensor, scenes)
    if film.layout.gather and film.diagram.gather:
        out += gather(film, film.diagram.gather, film.layout.gather, scenes)
    if film.visits and film.diagram.square:
        out += _lens(film, film.visits, film.diagram.square, scenes)
    if film.state and film.diagram.state:
        out += _state(film, film.state, film.diagram.state, scenes)
    return out


def _slots(scenes: Scenes, keys: Iterable[Key]) -> Markup:
    return NOTHING.join(map(scenes.slot, keys))


# ---- a tensor ----------------------------------------------------------------------------------------------------------


def _tensor(film: FilmData, t: PlacedTensor, scenes: Scenes) -> Markup:
    steps = [s for s in film.steps if s.event.tensor == t.name and s.tile]
    slices = {st.at: st.tile.slice for st in steps if st.tile}
    if t.plane.slices > 1:
        _choose_slices(film, (t.name, "slice"), slices, scenes)
    seen, layers = _tiles(t, steps, scenes), []
    for s in range(t.plane.slices):
        under = _slots(scenes, [*seen[s], (t.name, s, "under")]) + _grid(t, film)
        over = scenes.fading((t.name, s, "trail")) + scenes.slot((t.name, s, "over"))
        layers.append(under + _wrong(film, t, s, steps, scenes) + _values(film, t, s, scenes) + over)
    body = rects(t.bodies, "body") + scenes.choice((t.name, "slice"), layers)
    return _label(film, t, slices, scenes) + body + _axis(t) + _columns(film, t, scenes)


def _choose_slices(
    film: FilmData, key: Key, touched: dict[int, int], scenes: Scenes, said: Callable[[int], Value] = int
) -> None:
    """The slice that each program shows, as `said` puts it: the last one it touched, and at first the first."""
    for program_steps in by_program(film.steps):
        first = next((touched[s.at] for s in program_steps if s.at in touched), 0)
        for step in program_steps:
            if step is program_steps[0] or step.at in touched:
                scenes.put(step.at, key, said(touched.get(step.at, first)), own=True)


def _label(film: FilmData, t: PlacedTensor, slices: dict[int, int], scenes: Scenes) -> Markup:
    x, name = t.edge, short(t.name)
    if not t.lines:
        wide, _ = t.plane.blocks
        return text(x + (wide * t.ux if wide else t.drawn_size[0]) / 2, t.top - t.head, name, "name", 11, "middle")
    y = t.top - t.head - (14 if t.lines == 2 else 0)
    label, about = text(x, y, name, "name", 13), (x + 7.9 * len(t.title) + 8, y) if t.lines == 1 else (x, y + 14)
    if t.plane.slices > 1:

        def indexed(slice_: int) -> str:
            return f"{name}[{', '.join(map(str, np.unravel_index(slice_, t.plane.shape[:-2])))}]"

        _choose_slices(film, (t.name, "name"), slices, scenes, indexed)
        label = scenes.word((t.name, "name"), x, y, "name", 13)
    return label + text(*about, t.about, "about", 11)


def _grid(t: PlacedTensor, film: FilmData) -> Markup:
    """The lines between elements, or between tiles where elements are too small, and the frame."""
    x0, y0, w, h = t.place((0, t.rows, 0, t.cols))
    name = "grid"
    rows: Sequence[int] = []
    cols: Sequence[int] = []
    if t.plane.blocks[0]:
        pass
    elif t.ux >= 10 and not film.diagram.down and t.rows * t.cols <= 4096:
        rows, cols = range(1, t.rows), range(1, t.cols)
    else:  # the borders of tiles, where they are few
        boxes = [s.tile.box for s in film.steps if s.tile and s.event.tensor == t.name]
        cols = sorted({c for b in boxes for c in b[2:] if 0 < c < t.cols})
        rows = sorted({r for b in boxes for r in b[:2] if 0 < r < t.rows})
        along = (h, w) if t.transposed else (w, h)
        cols, rows = (n if size / (len(n) + 1) >= 4 else [] for n, size in zip((cols, rows), along, strict=True))
        name = "tiles"
    xs, ys = (rows, cols) if t.transposed else (cols, rows)
    d = "".join(line(t.x + n * t.ux, y0, 0, h) for n in xs) + "".join(line(x0, t.y + n * t.uy, w, 0) for n in ys)
    return path(name, d) + rects(t.bodies, "frame")


def _axis(t: PlacedTensor) -> Markup:
    """Indices of all elements if there is room, else in round steps."""
    out = NOTHING
    wide, pitch = t.plane.blocks
    for i, c in enumerate(range(0, t.cols, pitch) if wide > 1 else ()):
        out += text(t.x + (c + wide / 2) * t.ux, t.top - 5, f"chunk {i}", "", 11, "middle")
    across, down = (t.rows, t.cols) if t.transposed else (t.cols, t.rows)
    for extent, unit, start, along in ((across, t.ux, t.x, "x"), (down, t.uy, t.y, "y")):
        if along not in t.numbers or (extent == 1 and (along == "y" or t.lines == 0)):
            continue
        room = 24 if along == "x" else 15
        step = next(s for d in range(9) for s in (10**d, 2 * 10**d, 5 * 10**d) if s * unit >= room or s >= extent)
        step = 1 if unit >= 14 and extent < 100 else step
        for i in range(0, extent, step):
            middle = start + (i + 0.5 * min(1, unit / 9)) * unit
            at = (middle, t.top - 5) if along == "x" else (t.edge - 6, middle + 3.5)
            out += text(*at, str(i), "", 11, "middle" if along == "x" else "end")
    return out


def _values(film: FilmData, t: PlacedTensor, slice_: int, scenes: Scenes) -> Markup:
    """Numbers in the elements. Those that the kernel writes appear at their last store."""
    if t.name not in film.cells:
        return NOTHING
    size, area, written = 12 if t.ux >= 40 else 11, t.rows * t.cols, t.name in film.written
    numbers, out = film.cells[t.name][slice_ * area :][:area], NOTHING
    for i, value in enumerate(numbers):
        x, y, w, h = t.place((i // t.cols, i // t.cols + 1, i % t.cols, i % t.cols + 1))
        at = x + w / 2, y + h / 2 + 4
        if written:
            out += scenes.word((t.name, slice_, i), *at, "value", size, "middle")
        else:
            out += text(*at, value, "value", size, "middle")
    stores = [s for s in film.steps if s.event.tensor == t.name and s.stores and s.tile and s.tile.slice == slice_]
    last = {i: step.at for step in stores for i in elements(t, step)}
    for step in stores if written else ():
        for i in elements(t, step):
            scenes.put(step.at, (t.name, slice_, i), numbers[i] if last[i] == step.at else "…")
    return out


def _wrong(film: FilmData, t: PlacedTensor, slice_: int, steps: Sequence[Step], scenes: Scenes) -> Markup:
    """Red over the wrong elements from the step that stores them last, a thick frame around the first; their slots.

    An element that no step stores is wrong from the beginning.
    """
    wrong = film.wrong(t.name)
    if wrong is None or not wrong[slice_].any():
        return NOTHING
    last: dict[int, int] = dict.fromkeys((int(i) for i in np.flatnonzero(wrong[slice_])), 0)
    for step in steps:
        if step.stores and step.tile and step.tile.slice == slice_:
            last |= {i: step.at for i in elements(t, step) if i in last}
    first_slice, first = film.first_wrong(t.name)
    out = NOTHING
    for at in sorted(set(last.values())):
        stored_now = [divmod(i, t.cols) for i, stored in last.items() if stored == at]
        boxes = [t.place(box) for box in joined_boxes((r, r + 1, c, c + 1) for r, c in stored_now)]
        picture = rects(boxes, "wrong") + path("wrong-lines", "".join(hatch(q, 7) for q in boxes))
        if slice_ == first_slice and last.get(first) == at:
            picture += _first_wrong(film, t, first)
        scenes.put(at, (t.name, slice_, "wrong", at), picture)
        out += scenes.slot((t.name, slice_, "wrong", at))
    return out


def _first_wrong(film: FilmData, t: PlacedTensor, element: int) -> Markup:
    """The frame around the first wrong element; where numbers are written, also what it should be, below the tensor."""
    assert film.flaws is not None
    row, column = divmod(element, t.cols)
    x, y, w, h = t.place((row, row + 1, column, column + 1), 4)
    out = rect((x, y, w, h), "first-wrong")
    if t.cells:
        wide, high = t.drawn_size
        words, below = f"should be {film.flaws.outputs[t.name].words[1]}", t.top + high + 15
        out += path("points", f"M{pixels(x + w / 2)} {pixels(y + h)}V{pixels(below - 11)}")
        left = t.edge + wide / 2 > x + w / 2
        out += text(x + (2 if left else w - 2), below, words, "side warn", 12, "start" if left else "end")
    return out


# ---- tiles on a tensor -------------------------------------------------------------------------------------------------


def _tiles(t: PlacedTensor, steps: Sequence[Step], scenes: Scenes) -> Slots:
    """Each step's tile, its trail and what it leaves behind. Returns the slots of visited areas."""
    seen: Slots = defaultdict(dict)
    for step in steps:
        tile, kind = step.tile, step.event.kind
        assert tile is not None
        where = (t.name, tile.slice)
        for box in joined_boxes(tile.touched):
            key: Key = (*where, "seen", kind, box)
            seen[tile.slice][key] = None
            scenes.put(step.at, key, rect(t.place(box), f"seen {kind}"))
        boxes = tile.touched if tile.runs is not None else [tile.box]
        scenes.flash(step.at, (*where, "trail"), rects(map(t.place, boxes), f"trail {kind}"))
        scenes.flash(step.at, (*where, "under"), _fills(t, step))
        scenes.flash(step.at, (*where, "over"), _outlines(t, step))
    _shared(t, steps, scenes, seen)
    return seen


def _shared(t: PlacedTensor, steps: Sequence[Step], scenes: Scenes, seen: Slots) -> None:
    """Lines through the elements that several programs have updated, and how many."""
    who: dict[tuple[int, int], set[int]] = defaultdict(set)
    for step in (s for s in steps if s.event.kind == "atomic" and s.tile):
        assert step.tile is not None
        slice_, fresh, most = step.tile.slice, [], 0
        for element in elements(t, step):
            programs = who[slice_, element]
            before = len(programs)
            programs.add(step.program)
            most = max(most, len(programs))
            if before == 1 and len(programs) == 2:
                fresh.append(divmod(element, t.cols))
        if most > 1:
            scenes.put(step.at, "updaters", f" · updated by {most} programs so far", "", together=True)
        if fresh:
            d = "".join(hatch(t.place(box), 5) for box in joined_boxes((r, r + 1, c, c + 1) for r, c in fresh))
            key: Key = (t.name, slice_, "shared", step.at)
            seen[slice_][key] = None
            scenes.put(step.at, key, path("shared", d), together=True)


def rest(box: Box, inner: Box | None) -> list[Box]:
    """What is left of a box when another is cut out of it."""
    if inner is None:
        return [box]
    (r0, r1, c0, c1), (a0, a1, b0, b1) = box, inner
    parts = [(r0, a0, c0, c1), (a1, r1, c0, c1), (a0, a1, c0, b0), (a0, a1, b1, c1)]
    return [p for p in parts if p[1] > p[0] and p[3] > p[2]]


def masked(t: PlacedTensor, step: Step) -> list[Rect]:
    """Where masked lanes are visible: some stages have no room past an edge."""
    if step.tile is None or step.tile.runs is not None:
        return []
    places = (t.place(box, 0) for box in rest(step.tile.box, step.tile.active))
    return [q for q in places if q[2] > 0 and q[3] > 0]


def _fills(t: PlacedTensor, step: Step) -> Markup:
    tile, kind = step.tile, step.event.kind
    assert tile is not None
    out = path("masked", "".join(hatch(q, 6) for q in masked(t, step)))
    if step.event.out_of_bounds and tile.runs is None:
        r0, r1, c0, c1 = tile.box
        beyond = [
            (r0, r1, max(c0, t.cols), c1),
            (max(r0, t.rows), r1, c0, min(c1, t.cols)),
            (r0, r1, c0, min(0, c1)),
            (r0, min(0, r1), c0, c1),
        ]
        for q in (t.place(b) for b in beyond if b[1] > b[0] and b[3] > b[2]):
            out += rect(q, "ground|outside") + path("outside-lines", hatch(q, 8) + hatch(q, 8, back=True))
    return out + rects(map(t.place, tile.touched), f"ground|fill {kind}")


def _outlines(t: PlacedTensor, step: Step) -> Markup:
    tile, kind = step.tile, step.event.kind
    assert tile is not None
    out = NOTHING
    if tile.runs is None and tile.active != tile.box:  # else its edge lies on its box
        out += rect(t.place(tile.box), f"box {kind}")
    out += rects(map(t.place, tile.touched), f"edge {kind}" + ("" if kind == "load" else "|inner"))
    return out + plus_sign(t.place(tile.touched[0])) if tile.touched and kind == "atomic" else out


# ---- columns of running state ------------------------------------------------------------------------------------------

Rows = tuple[int, int, int]  # slice, first row, last + 1
Numbers = dict[int, list[float]]  # by column


def _columns(film: FilmData, t: PlacedTensor, scenes: Scenes) -> Markup:
    """The running state beside a tensor's rows: frames and names, and every step's values before and after."""
    running = film.diagram.running
    if running is None or running.rows != t.name or not t.columns:
        return NOTHING
    out = NOTHING
    _, y, _, high = t.place((0, t.rows, 0, t.cols))
    for i, name in enumerate(t.columns):
        x, w = t.column_x(i), t.column_width
        lines = "".join(line(x, t.y + r * t.uy, w, 0) for r in range(1, t.rows * t.texts))
        out += text(x + w / 2, t.top - 5, name, "mono", 11, "middle") + rect((x, y, w, high), "body")
        out += path("grid", lines) + rect((x, y, w, high), "frame")
    used = _column_values(film, t, running, scenes)
    layers = [_slots(scenes, used[s]) for s in range(t.plane.slices)]
    return out + scenes.choice((t.name, "slice"), layers)


def _values_before(film: FilmData, t: PlacedTensor, running: RunningState) -> list[tuple[Rows, Numbers] | None]:
    """For every step: the rows that its state belongs to just before it, and what each column holds for them."""
    held = held_rows(film.steps, running)
    out: list[tuple[Rows, Numbers] | None] = [None] * len(film.steps)
    for program_steps in by_program(film.steps):
        place = None
        for step in program_steps:
            place, after = place or held[step.at], held[step.at]
            if place is not None:
                slice_, (start, stop) = place
                a, b = max(start, 0), min(stop, t.rows)
                columns = {i: vector(step.event.state.get(name)) for i, name in enumerate(t.columns)}
                numbers = {
                    i: v[a - start : b - start] for i, v in columns.items() if v is not None and len(v) == stop - start
                }
                out[step.at] = ((slice_, a, b), numbers) if any(numbers.values()) else None
            place = after or place
    return out


def _column_values(film: FilmData, t: PlacedTensor, running: RunningState, scenes: Scenes) -> Slots:
    before = _values_before(film, t, running)
    spans = {}
    for i in range(len(t.columns)):
        finite = [v for entry in before if entry for v in entry[1].get(i, ()) if math.isfinite(v)]
        spans[i] = (min(finite), max(finite)) if finite else (0.0, 0.0)
    wrong: dict[tuple[int, int, int], int] = {}
    for d in film.divergences:
        if d.name in t.columns:
            slice_ = int(np.ravel_multi_index(d.lead, t.plane.shape[:-2])) if d.lead else 0
            wrong[t.columns.index(d.name), slice_, d.row] = d.at
    latest: dict[tuple[int, int, int], float] = {}  # by column, slice, row
    used: Slots = defaultdict(dict)

    def column(k: int, rows: Rows, i: int, fresh: list[float] | None) -> Markup:
        slice_, start, stop = rows
        old = [latest.get((i, slice_, r)) for r in range(start, stop)]
        marked = [wrong.get((i, slice_, r), k + 1) <= k for r in range(start, stop)]
        at = (t.column_x(i), t.y + start * t.uy, t.column_width, t.uy)
        return _texts(at, old, fresh, marked) if t.texts else _bars(at, old, fresh, marked, spans[i])

    for program_steps in by_program(film.steps):
        for step, following in zip(program_steps, [*program_steps[1:], program_steps[-1]], strict=True):
            here, then = before[step.at], before[following.at]
            for i, values in (here[1] if here else {}).items():
                assert here is not None
                latest |= {(i, here[0][0], r): v for r, v in enumerate(values, here[0][1])}
            places = {(entry[0], i) for entry in (here, then) if entry for i in entry[1]}
            for rows, i in sorted(places):
                key = ("columns", i, *rows)
                used[rows[0]][key] = None
                fresh = then[1].get(i) if then and then[0] == rows and step.later else None
                scenes.put(step.at, key, column(step.at, rows, i, fresh), column(step.at, rows, i, None))
    return used


def _texts(first: Rect, old: Sequence[float | None], fresh: list[float] | None, marked: Sequence[bool]) -> Markup:
    """``before → after`` in every row, from the `first` down."""
    out, (x, top, w, h) = NOTHING, first
    for r, was in enumerate(old):
        a, b = ("" if v is None else number(v, 5) for v in (was, fresh[r] if fresh else None))
        if not a and not b:
            continue
        y, changes = top + r * h, bool(b) and a != b
        words = (f"{a} → {b}" if a else f"→ {b}") if changes else a or b
        out += rect((x, y, w, h), "changes") if changes else NOTHING
        if marked[r]:
            words = "≠ " + words
            out += rect((x + 1, y + 1, w - 2, h - 2), "departs")
        out += text(x + w / 2, y + h / 2 + 4, words, "side warn" if marked[r] else "side", 11, "middle")
    return out


def _bars(
    first: Rect,
    old: Sequence[float | None],
    fresh: list[float] | None,
    marked: Sequence[bool],
    span: tuple[float, float],
) -> Markup:
    """One bar for each row: those of the program of the step, those of others, and marks of divergences."""
    x, y, w, h = first
    low, high = span if span[1] > span[0] else (span[0] - 1, span[0] + 1)
    shown = fresh or [math.nan if v is None else v for v in old]
    out = bars((x, y, w, len(shown) * h), levels(np.array(shown), low, high), "bar-now" if fresh else "bar-past")
    marks = (line(x + w + 2, y + r * h, 0, max(h, 2)) for r, bad in enumerate(marked) if bad)
    return out + path("departs thick", "".join(marks))


# ---- the square of tiles on chip ---------------------------------------------------------------------------------------


def _square(film: FilmData, whole: Rect, scenes: Scenes) -> Markup:
    """The square: its frame, the borders of tiles, visited tiles, pairs that went through a state, and the tile of the step."""
    slices: dict[int, int] = {}
    parts: Slots = defaultdict(dict)
    lines = ""
    if film.visits:
        _visited(film, film.visits, whole, scenes, parts)
        slices |= {k: held.pair.slice for k, held in enumerate(film.visits.at) if held.pair}
        for row in sorted({p.rows[0] for p in film.visits.pairs} - {0}):
            lines += line(whole[0], _in_square(film, (row, row, 0, 0))[1], whole[2], 0)
        for column in sorted({p.columns[0] for p in film.visits.pairs} - {0}):
            lines += line(_in_square(film, (0, 0, column, column))[0], whole[1], 0, whole[3])
    for k, at in enumerate(film.state.at if film.state else ()):  # pairs that have no tile of their own
        for slice_, box in at.reads:
            key, q = ("read", slice_, box), _in_square(film, box)
            parts[slice_][key] = None
            scenes.put(k, key, rect(q, "told|telling"), rect(q, "told"))
        if at.reads:
            slices.setdefault(k, at.reads[0][0])
    last = max([0, *parts, *slices.values()])
    if last:
        _choose_slices(film, ("square", "slice"), slices, scenes)
    layer = scenes.choice(("square", "slice"), [_slots(scenes, parts[s]) for s in range(last + 1)])
    return rect(whole, "body") + layer + path("tiles", lines) + rect(whole, "frame") + scenes.slot("here")


def _in_square(film: FilmData, box: Sequence[float]) -> Rect:
    """Rows and columns of the square, in pixels."""
    assert film.layout.square is not None
    x, y, w, h = film.layout.square
    rows, columns = film.layout.sides
    u, v = w / columns, h / rows
    r0, r1, c0, c1 = box
    return x + c0 * u, y + r0 * v, (c1 - c0) * u, (r1 - r0) * v


def _visited(film: FilmData, visits: Visits, whole: Rect, scenes: Scenes, parts: Slots) -> None:
    """The tile of each step, and the traces of visited and skipped tiles."""
    first = film.diagram.square.lens[0] if film.diagram.square else None
    signed = first is not None and (first.signed or first.when != "made")
    hidden: dict[Pair, Markup] = {}
    for k, held in enumerate(visits.at):
        pair = held.pair
        if pair is None:
            continue
        key, q, picture = ("pair", pair.slice, pair.box), _in_square(film, pair.box), NOTHING
        parts[pair.slice][key] = None
        if heat := visits.heat(k):
            (row, _), (column, _), (tall, wide) = pair.rows, pair.columns, pair.size
            past_the_edges = _in_square(film, (row, row + tall, column, column + wide))
            picture = cells(past_the_edges, heat, signed, pair.inside)
            hidden[pair] = NOTHING if signed else strikes(past_the_edges, heat, pair.inside)
        scenes.put(k, key, NOTHING, rect(q, "visited") + hidden.get(pair, NOTHING))
        (x, y, w, h), (sx, sy, sw, sh) = q, whole
        guides = [line(n, sy - 12, 0, sh + 24) for n in (x, x + w)] + [line(sx - 12, n, sw + 24, 0) for n in (y, y + h)]
        scenes.flash(k, "here", path("guides", "".join(guides)) + rect(q, "ground") + picture + rect(q, "edge dot"))
    wide = max((p.columns[1] - p.columns[0] for p in visits.pairs), default=1)
    for (slice_, last), gone in itertools.groupby(visits.skipped, lambda s: (s[0], s[2])):
        d = ""
        for r0, r1, start, stop in (box for _, box, _ in gone):
            for c in range(start, stop, wide):
                x, y, w, h = _in_square(film, (r0, r1, c, min(c + wide, stop)))
                d += line(x, y, w, h) + line(x + w, y, -w, h)
        parts[slice_]["skipped", slice_, last] = None
        scenes.put(last, ("skipped", slice_, last), path("skipped", d))


# ---- enlarged pictures of what is on chip ------------------------------------------------------------------------------


def _lens(film: FilmData, visits: Visits, square: Square, scenes: Scenes) -> Markup:
    boxes, out = film.layout.lens, NOTHING
    for i, (enlarged, (x, y, w, h)) in enumerate(zip(square.lens, boxes, strict=True)):
        out += text(x + w / 2, y - 6, visits.names[i], "mono", 11, "middle")
        note = "" if enlarged.vector and not any(i in held.pictures for held in visits.at) else visits.notes[i]
        out += rect((x, y, w, h), "body frame") + text(x + w / 2, y + h + 14, note, "", 11, "middle")
        if enlarged.sign:
            left = boxes[i - 1]
            out += text((left[0] + left[2] + x) / 2, y + h / 2 + 4, enlarged.sign, "", 13, "middle")
        out += scenes.slot(("lens", i))
    x, y = boxes[0][:2]
    out += scenes.word("lens words", x, y - 24, "doing", 12)
    for k, held in enumerate(visits.at):
        words = square.nothing
        if held.pair:
            words = square.here.format(rows=colon(held.pair.rows), columns=colon(held.pair.columns))
        scenes.put(k, "lens words", words, own=True)
        down, across = held.pair.inside if held.pair else WHOLE
        for i, picture in held.pictures.items():
            q, enlarged, made = boxes[i], square.lens[i], square.lens[i].when == "made"
            drawn = bars(q, picture) if isinstance(picture, str) else cells(q, picture, enlarged.signed or not made)
            drawn += _beyond(q, down, across if made and not enlarged.vector else 1.0)
            scenes.flash(k, ("lens", i), drawn + rect(q, "edge dot" if enlarged.when == "after" else "frame"))
    x, y = film.layout.about
    return out + NOTHING.join(text(x, y + 14 * i, words) for i, words in enumerate(square.about))


def _beyond(q: Rect, down: float, across: float) -> Markup:
    """A veil over the part past the edge, which means nothing."""
    x, y, w, h = q
    parts = [(x + w * across, y, w * (1 - across), h), (x, y + h * down, w * across, h * (1 - down))]
    return NOTHING.join(rect(p, "veil") + path("masked", hatch(p, 6)) for p in parts if p[2] > 0.5 and p[3] > 0.5)


# ---- a state that is kept ----------------------------------------------------------------------------------------------


def _state(film: FilmData, state: StateSteps, spec: KeptState, scenes: Scenes) -> Markup:
    """Frames, names and words, which never change, and the state before and after every step."""
    boxes = film.layout.state
    out = NOTHING.join(rect(q, "body frame") for q in boxes.values())
    x, y, *_ = boxes["after"]
    title = spec.title.format(state=state.name or "state")
    out += text(x, y - 8, title, "mono")
    if "sums" in boxes:
        q = boxes["sums"]
        out += text(max(q[0] + q[2] / 2, x + 6.7 * len(title) + 10), y - 8, state.total, "mono", 11, "middle")
    bx, by, bw, _ = boxes["before"]
    out += text(bx, by - 8, "before this step")
    if spec.flat:
        out += text(bx + bw, by - 8, ", ".join(state.ranges), "", 11, "end")
    else:
        lines = [(spec.about if any(at.reads for at in state.at) else spec.unread)] if film.layout.square else []
        lines.append(f"{state.name or 'state'}: {', '.join(state.ranges)}")
        x, y = film.layout.about
        out += NOTHING.join(text(x, y + 14 * i, words) for i, words in enumerate(lines))
    rows, columns = (1 if spec.flat else film.layout.tensor(spec.rows).cols), film.layout.tensor(spec.columns).cols
    longest = max(len(at.words) for at in state.at)
    left = max(30.0, min(film.layout.action_at[0], film.layout.width - 6.4 * longest))
    out += _slots(scenes, [("on chip", key) for key in boxes]) + scenes.slot("pulse")
    _state_steps(state, boxes, scenes, rows, columns)
    return out + scenes.word("action", left, film.layout.action_at[1], "doing", 12)


def _state_steps(state: StateSteps, boxes: Mapping[str, Rect], scenes: Scenes, rows: int, columns: int) -> None:
    """The state around every step, and the words for what the step does with it."""
    for k, at in enumerate(state.at):
        scenes.put(k, "action", at.words, own=True)
        r0, c0, tall, wide = at.place or (0, 0, 1, 1)
        inside = min(1.0, max(0.0, (rows - r0) / tall)), min(1.0, max(0.0, (columns - c0) / wide))
        for key, (x, y, w, h) in boxes.items():
            top, high, held = y + h * r0 / rows, h * tall / rows, at.pictures.get(key) if at.place else None
            picture = NOTHING
            if isinstance(held, tuple):
                picture = cells((x + w * (c0 / columns), top, w * (wide / columns), high), held, True, inside)
            elif held:
                picture = bars((x, top, w, high), held, inside=inside[0])
            scenes.put(k, ("on chip", key), picture, own=True)
        if at.action and at.place:
            x, y, w, h = boxes["after"]
            q = (x + w * c0 / columns, y + h * r0 / rows, w * wide / columns * inside[1], h * tall / rows * inside[0])
            scenes.flash(k, "pulse", rect(q, f"pulse {at.action}"))
