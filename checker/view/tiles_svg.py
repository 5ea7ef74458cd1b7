"""What a moment puts on a tensor without a script: the tile of the moment, those before it, and the trail between them.

`film.js` draws the same shapes for every other moment. Colours are given twice: as attributes, for places that strip
style sheets, and by classes that follow the reader's theme.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from checker.view.film_model import Film, Moment
from checker.view.layout import Panel, joined
from checker.view.shapes import Rect, block, hatch, path, rect, rects, tenths
from checker.view.theme import LIGHT

Box = tuple[int, int, int, int]  # r0, r1, c0, c1
TRAIL = 8


def place(panel: Panel, box: tuple[int, int, int, int]) -> Rect:
    """A box of elements ``(r0, r1, c0, c1)`` in the stage's pixels, cut to what the panel shows, never thinner than 2."""
    r0, r1 = (min(max(r, panel.r0), panel.r1) for r in box[:2])
    c0, c1 = (min(max(c, panel.c0), panel.c1) for c in box[2:])
    if panel.transposed:
        r0, r1, c0, c1 = c0, c1, r0, r1
    x, y = panel.x + c0 * panel.ux, panel.y + r0 * panel.uy
    return round(x, 1), round(y, 1), round(max((c1 - c0) * panel.ux, 2), 1), round(max((r1 - r0) * panel.uy, 2), 1)


def rest(box: Box, inner: Box | None) -> list[Box]:
    """What is left of a box when another is cut out of it."""
    if inner is None:
        return [box]
    (r0, r1, c0, c1), (a0, a1, b0, b1) = box, inner
    parts = [(r0, a0, c0, c1), (a1, r1, c0, c1), (a0, a1, c0, b0), (a0, a1, b1, c1)]
    return [p for p in parts if p[1] > p[0] and p[3] > p[2]]


def hatched(film: Film) -> bool:
    """Whether masked lanes are ever seen: on some stages what hangs over a tensor's edge has no place."""
    panels = {p.name: p for p in film.panels}
    for moment in (m for m in film.moments if m.event.masked and m.flat and m.flat.runs is None):
        panel, flat = panels[moment.event.tensor], moment.flat
        assert flat is not None
        for r0, r1, c0, c1 in rest(flat.box, flat.active):
            if min(r1, panel.r1) > max(r0, panel.r0) and min(c1, panel.c1) > max(c0, panel.c0):
                return True
    return False


def touched(moment: Moment) -> list[tuple[int, int, int, int]]:
    """The elements that were really accessed, as boxes."""
    if moment.flat is None:
        return []
    if moment.flat.runs is not None:
        return [(row, row + 1, c0, c1) for row, c0, c1 in moment.flat.runs]
    return [moment.flat.active] if moment.flat.active else []


def _fills(panel: Panel, moment: Moment) -> str:
    assert moment.flat is not None
    kind = moment.event.kind
    ragged = moment.flat.runs is not None
    lines = "" if ragged else "".join(hatch(place(panel, b), 6) for b in rest(moment.flat.box, moment.flat.active))
    out = [path("masked", lines, f'stroke="{LIGHT["mask"]}"')]
    if moment.event.out_of_bounds and not ragged:
        r0, r1, c0, c1 = moment.flat.box
        beyond = [
            (r0, r1, max(c0, panel.cols), c1),
            (max(r0, panel.rows), r1, c0, min(c1, panel.cols)),
            (r0, r1, c0, min(0, c1)),
            (r0, min(0, r1), c0, c1),
        ]
        for box in (b for b in beyond if b[1] > b[0] and b[3] > b[2]):
            q, warn = place(panel, box), LIGHT["warn"]
            out.append(rect(q, "ground", 'fill="#fff"') + rect(q, "outside", f'fill="{warn}" fill-opacity=".16"'))
            lines = hatch(q, 8) + hatch(q, 8, back=True)
            out.append(path("outside-lines", lines, f'stroke="{warn}"'))
    for box in touched(moment):
        q = place(panel, box)
        out.append(rect(q, "ground", 'fill="#fff"'))
        out.append(rect(q, f"fill {kind}", f'fill="{LIGHT[kind]}" fill-opacity=".28"'))
    return "".join(out)


def _outlines(panel: Panel, moment: Moment) -> str:
    assert moment.flat is not None
    kind, colour = moment.event.kind, LIGHT[moment.event.kind]
    dashed = f'stroke="{colour}" stroke-dasharray="4 3"'
    whole = moment.flat.runs is not None or moment.flat.active == moment.flat.box  # then its edge lies on its box
    out = [] if whole else [rect(place(panel, moment.flat.box), f"box {kind}", dashed)]
    for box in touched(moment):
        q = place(panel, box)
        out.append(rect(q, f"edge {kind}", f'stroke="{colour}" stroke-width="{2.4 if kind == "load" else 5}"'))
        if kind != "load":
            out.append(rect(q, "inner", 'stroke="#fff" stroke-width="1.6"'))
    if kind == "atomic":
        out += [plus_sign(place(panel, box)) for box in touched(moment)[:1]]
    return "".join(out)


def layers(film: Film, panel: Panel, k: int) -> tuple[str, str]:
    """What moment `k` puts under and over the grid of a panel."""
    current = film.moments[k]
    mine = [m for m in film.moments[: k + 1] if m.event.tensor == panel.name and m.flat]
    slice_ = slice_shown(mine, current)
    mine = [m for m in mine if m.flat and m.flat.slice == slice_]
    paths = {"load": "", "store": "", "atomic": ""}
    for name in paths:
        boxes = [box for m in mine if m.event.kind == name for box in touched(m)]
        paths[name] = "".join(block(place(panel, box)) for box in joined(boxes))
    under = "".join(path(f"seen {kind}", d, f'fill="{LIGHT[kind]}" fill-opacity=".12"') for kind, d in paths.items())
    under += _shared(panel, mine)
    over, trail = "", film.moments[max(0, k - TRAIL) : k]
    for j, moment in enumerate(trail):
        if moment.flat and moment.event.tensor == panel.name and moment.flat.slice == slice_:
            kind, opacity = moment.event.kind, 0.1 + 0.6 * (j + 1) / len(trail)
            boxes = [moment.flat.box] if moment.flat.runs is None else touched(moment)
            stroke = f'stroke="{LIGHT[kind]}" opacity="{opacity:.1f}"'
            over += rects((place(panel, box) for box in boxes), f"trail {kind}", stroke)
    if current.flat and current.event.tensor == panel.name:
        under, over = under + _fills(panel, current), over + _outlines(panel, current)
    return under, over


def updaters(moments: Iterable[Moment]) -> dict[tuple[int, int, int], set[int]]:
    """By ``(slice, row, column)`` of one tensor: the programs that update it atomically."""
    who: dict[tuple[int, int, int], set[int]] = {}
    for moment in moments:
        if moment.event.kind == "atomic" and moment.flat:
            for r0, r1, c0, c1 in touched(moment):
                for place_ in itertools.product((moment.flat.slice,), range(r0, r1), range(c0, c1)):
                    who.setdefault(place_, set()).add(moment.program)
    return who


def shared_ever(film: Film) -> bool:
    """Whether programs meet in an element that they update atomically."""
    names = {m.event.tensor for m in film.moments if m.event.kind == "atomic"}
    each = (updaters(m for m in film.moments if m.event.tensor == name) for name in names)
    return any(len(programs) > 1 for who in each for programs in who.values())


def _shared(panel: Panel, mine: list[Moment]) -> str:
    """Lines through the elements that more than one program has updated."""
    met = [(r, c) for (_, r, c), programs in updaters(mine).items() if len(programs) > 1]
    lines = "".join(hatch(place(panel, box), 5) for box in joined([(r, r + 1, c, c + 1) for r, c in met]))
    return path("shared", lines, f'stroke="{LIGHT["atomic"]}" stroke-opacity=".6"')


def plus_sign(q: Rect) -> str:
    """The sign of an atomic update, in the middle of a tile."""
    x, y, w, h = q
    reach = max(min(7.0, w / 2 - 1, h / 2 - 1), 3.0)
    d = f"M{tenths(x + w / 2 - reach)} {tenths(y + h / 2)}h{tenths(2 * reach)}M{tenths(x + w / 2)} {tenths(y + h / 2 - reach)}v{tenths(2 * reach)}"
    return path("plus-sign", d, 'stroke="#fff" stroke-width="6.5"') + path(
        "plus-sign top", d, f'stroke="{LIGHT["atomic"]}" stroke-width="3"'
    )


def slice_shown(mine: list[Moment], current: Moment) -> int:
    """The slice of a tensor that its panel shows."""
    own = [m for m in mine if m.program == current.program]
    return (own or mine)[-1].flat.slice if mine else 0  # type: ignore[union-attr]
