"""The film's picture without a script: the stage with one moment on it, and a strip of a few later moments.

`film.js` draws the same shapes for every other moment. Colours are given twice: as attributes, for places that strip
style sheets, and by classes that follow the reader's theme.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from checker.view import carried_svg, scores_svg
from checker.view import sides as columns
from checker.view.film_data import Film, Moment
from checker.view.layout import Panel, joined
from checker.view.shapes import Rect, block, border, coarse, frame, ground, hatch, merged, path, rect, rects
from checker.view.theme import LIGHT, escape

Box = tuple[int, int, int, int]  # r0, r1, c0, c1
TRAIL = 8
_NAME = f'class="name" font-weight="650" fill="{LIGHT["ink"]}"'


def place(panel: Panel, box: tuple[int, int, int, int]) -> Rect:
    """A box of elements ``(r0, r1, c0, c1)`` in the stage's pixels, cut to what the panel shows, never thinner than 2."""
    r0, r1 = (min(max(r, panel.r0), panel.r1) for r in box[:2])
    c0, c1 = (min(max(c, panel.c0), panel.c1) for c in box[2:])
    if panel.transposed:
        r0, r1, c0, c1 = c0, c1, r0, r1
    x, y = panel.x + c0 * panel.ux, panel.y + r0 * panel.uy
    return round(x, 1), round(y, 1), round(max((c1 - c0) * panel.ux, 2), 1), round(max((r1 - r0) * panel.uy, 2), 1)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


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


def _colour(kind: str) -> str:
    return LIGHT[kind]


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
        out.append(rect(q, f"fill {kind}", f'fill="{_colour(kind)}" fill-opacity=".28"'))
    return "".join(out)


def _outlines(panel: Panel, moment: Moment) -> str:
    assert moment.flat is not None
    kind, colour = moment.event.kind, _colour(moment.event.kind)
    dashed = f'stroke="{colour}" stroke-dasharray="4 3"'
    whole = moment.flat.runs is not None or moment.flat.active == moment.flat.box  # then its edge lies on its box
    out = [] if whole else [rect(place(panel, moment.flat.box), f"box {kind}", dashed)]
    for box in touched(moment):
        q = place(panel, box)
        out.append(rect(q, f"edge {kind}", f'stroke="{colour}" stroke-width="{2.4 if kind == "load" else 5}"'))
        if kind != "load":
            out.append(rect(q, "inner", 'stroke="#fff" stroke-width="1.6"'))
    if kind == "atomic":
        out += [_plus(place(panel, box)) for box in touched(moment)[:1]]
    return "".join(out)


def layers(film: Film, panel: Panel, k: int) -> tuple[str, str]:
    """What moment `k` puts under and over the grid of a panel."""
    current = film.moments[k]
    mine = [m for m in film.moments[: k + 1] if m.event.tensor == panel.name and m.flat]
    slice_ = _slice(mine, current)
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
            stroke = f'stroke="{_colour(kind)}" opacity="{opacity:.1f}"'
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


def _plus(q: Rect) -> str:
    """The sign of an atomic update, in the middle of a tile."""
    x, y, w, h = q
    reach = max(min(7.0, w / 2 - 1, h / 2 - 1), 3.0)
    d = f"M{_n(x + w / 2 - reach)} {_n(y + h / 2)}h{_n(2 * reach)}M{_n(x + w / 2)} {_n(y + h / 2 - reach)}v{_n(2 * reach)}"
    return path("plus-sign", d, 'stroke="#fff" stroke-width="6.5"') + path(
        "plus-sign top", d, f'stroke="{LIGHT["atomic"]}" stroke-width="3"'
    )


def _slice(mine: list[Moment], current: Moment) -> int:
    own = [m for m in mine if m.program == current.program]
    return (own or mine)[-1].flat.slice if mine else 0  # type: ignore[union-attr]


def _axis(panel: Panel) -> str:
    """Index labels: every element where there is room, round steps where there is not."""
    above, beside = [], []
    wide, pitch = panel.blocks
    if wide > 1:  # the numbers of the blocks
        for i, c in enumerate(range(0, panel.cols, pitch)):
            middle = panel.x + (c + wide / 2) * panel.ux
            above.append(f'<text x="{_n(middle)}" y="{_n(panel.top - 5)}">chunk {i}</text>')
    cols, rows = (panel.rows, panel.cols) if panel.transposed else (panel.cols, panel.rows)
    for extent, unit, start, along in ((cols, panel.ux, panel.x, "x"), (rows, panel.uy, panel.y, "y")):
        if along not in panel.axes:
            continue
        room = 24 if along == "x" else 15
        step = next(s for d in range(9) for s in (10**d, 2 * 10**d, 5 * 10**d) if s * unit >= room or s >= extent)
        step = 1 if unit >= 14 and extent < 100 else step
        if along == "y" and extent == 1 and len(panel.shape) < 2:
            continue
        for i in range(0, extent, step):
            middle = start + (i + 0.5 * min(1, unit / 9)) * unit
            if along == "x":
                above.append(f'<text x="{_n(middle)}" y="{_n(panel.top - 5)}">{i}</text>')
            else:
                beside.append(f'<text x="{_n(panel.edge - 6)}" y="{_n(middle + 3.5)}">{i}</text>')
    return _labels(above, "middle") + _labels(beside, "end")


def _labels(texts: list[str], anchor: str) -> str:
    shared = f'font-size="10" fill="{LIGHT["soft"]}" text-anchor="{anchor}"'
    return f"<g {shared}>{''.join(texts)}</g>" if texts else ""


def _grid(panel: Panel, film: Film) -> str:
    x0, y0 = panel.x, panel.y
    down, right = (panel.cols, panel.rows) if panel.transposed else (panel.rows, panel.cols)
    x1, y1 = x0 + right * panel.ux, y0 + down * panel.uy
    d = []
    if panel.blocks[0]:
        xs, ys, name = [], [], "tiles"
    elif panel.ux >= 10 and panel.rows * panel.cols <= 4096 and panel.label is None:
        xs, ys, name = [*range(1, panel.cols)], [*range(1, panel.rows)], "grid"
    else:  # the borders of tiles, where they are few
        boxes = [m.flat.box for m in film.moments if m.flat and m.event.tensor == panel.name]
        cols = sorted({c for b in boxes for c in b[2:] if 0 < c < panel.cols})
        rows = sorted({r for b in boxes for r in b[:2] if 0 < r < panel.rows})
        apart = [panel.ux * panel.cols / (len(cols) + 1) >= 4, panel.uy * panel.rows / (len(rows) + 1) >= 4]
        if panel.transposed:
            cols, rows, apart = rows, cols, [panel.ux * panel.rows / (len(rows) + 1) >= 4, True]
        xs, ys, name = cols if apart[0] else [], rows if apart[1] else [], "tiles"
    d += [f"M{_n(x0 + c * panel.ux)} {_n(y0)}V{_n(y1)}" for c in xs]
    d += [f"M{_n(x0)} {_n(y0 + r * panel.uy)}H{_n(x1)}" for r in ys]
    return path(name, "".join(d), f'stroke="{LIGHT["faint"]}"') + border(*_bodies(panel))


def _bodies(panel: Panel) -> list[Rect]:
    """The whole tensor; one for each block where blocks stand side by side."""
    wide, pitch = panel.blocks
    if not wide:
        return [place(panel, (0, panel.rows, 0, panel.cols))]
    return [place(panel, (0, panel.rows, c, c + wide)) for c in range(0, panel.cols, pitch)]


def _values(film: Film, panel: Panel, k: int) -> str:
    if panel.name not in film.cells:
        return ""
    seen, total = _stores(film, panel, k + 1), _stores(film, panel, len(film.moments))
    out, area = [], panel.rows * panel.cols
    for i, text in enumerate(film.cells[panel.name][:area]):
        row, col = divmod(i, panel.cols)
        x, y = panel.x + (col + 0.5) * panel.ux, panel.y + (row + 0.5) * panel.uy + 4
        if panel.name in film.written and seen.get(i, 0) != total.get(i, -1):
            text = "…" if seen.get(i) else ""
        if text:  # the player makes the others
            out.append(f'<text x="{_n(x)}" y="{_n(y)}">{escape(text)}</text>')
    size = 12 if panel.ux >= 40 else 11 if panel.ux >= 36 else 10 if panel.ux >= 30 else 9
    return f'<g class="values" font-size="{size}" text-anchor="middle" fill="{LIGHT["ink"]}">' + "".join(out) + "</g>"


def _stores(film: Film, panel: Panel, stop: int) -> dict[int, int]:
    """How often each element of the first slice was stored before moment `stop`."""
    times: dict[int, int] = {}
    for moment in film.moments[:stop]:
        if moment.event.tensor != panel.name or moment.event.kind == "load" or not moment.flat or moment.flat.slice:
            continue
        for r0, r1, c0, c1 in touched(moment):
            for row in range(max(r0, 0), min(r1, panel.rows)):
                for col in range(max(c0, 0), min(c1, panel.cols)):
                    times[row * panel.cols + col] = times.get(row * panel.cols + col, 0) + 1
    return times


def stage(film: Film, k: int, alt: str) -> str:
    """The whole picture at moment `k`."""
    out = []
    for panel in film.panels:
        under, over = layers(film, panel, k) if film.moments else ("", "")
        lead = "" if panel.slices == 1 or not panel.axes else "[" + ", ".join("0" for _ in panel.shape[:-2]) + "]"
        name = escape(panel.title + lead)
        away = 'dx="7"' if len(panel.shape) < 3 else f'x="{_n(panel.edge)}" dy="14"'
        title = (
            f'<text x="{_n(panel.edge)}" y="{_n(panel.top - panel.head + 17)}" font-size="13"><tspan {_NAME}>{name}</tspan>'
            f'<tspan {away} font-size="11" fill="{LIGHT["soft"]}" class="about">{escape(panel.about)}</tspan></text>'
        )
        out.append(
            '<g class="panel">'
            + (_label(panel, name) if panel.label else title)
            + ground(*_bodies(panel))
            + f'<g class="under">{under}</g>{_grid(panel, film)}{_values(film, panel, k)}<g class="over">{over}</g>'
            + _axis(panel)
            + _sides(film, panel, k)
            + "</g>"
        )
    out[:0] = _squares(film, k, heat=True)
    if film.visits:
        out.append(scores_svg.above(film, k))
    if film.states:
        out.append(carried_svg.above(film, k))
    w, h = round(film.width), round(film.height)
    return (
        f'<svg class="stage" xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" fill="none" role="img" '
        f'aria-label="{escape(alt)}">' + "".join(out) + "</svg>"
    )


def _squares(film: Film, k: int, heat: bool) -> list[str]:
    """What lies under everything else: the square of scores, and what came out of a carried state."""
    out = [scores_svg.ground(film, k, heat)] if film.visits else []
    return [*out, carried_svg.ground(film, k)] if film.states else out


def _label(panel: Panel, name: str) -> str:
    """A name where the panel says: on one line (0, or 1.5 for small), centred alone (1), or with the shape below (±12, right-aligned if less)."""
    assert panel.label is not None
    x, y, how = panel.label
    anchor = {1: "middle"}.get(int(how), "end" if how < 0 else "start") if how != 1.5 else "start"
    about = f'<tspan class="about" font-size="10.5" fill="{LIGHT["soft"]}"'
    match how:
        case 1:
            tail = ""
        case 0:
            tail = f'{about} dx="7">{escape(panel.about)}</tspan>'
        case 1.5:
            tail = ""
        case _:
            tail = f'{about} x="{_n(x)}" dy="12">{escape(panel.about)}</tspan>'
    big = 11 if how in (1, 1.5) else 13
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{_n(x)}" y="{_n(y)}"{anchored} font-size="{big}"><tspan {_NAME}>{name}</tspan>{tail}</text>'


def _sides(film: Film, panel: Panel, k: int) -> str:
    """The columns of running state beside a panel."""
    if film.sides is None or film.panels[film.sides.panel] is not panel:
        return ""
    mine = [m for m in film.moments[: k + 1] if m.event.tensor == panel.name and m.flat]
    values = columns.layer(film.sides, panel, film.moments, k, _slice(mine, film.moments[k]))
    return columns.frame(film.sides, panel) + f'<g class="sides">{values}</g>'


def miniature(film: Film, k: int) -> str:
    """Moment `k` small: tensors as plain areas, tiles, trail."""
    drawn = [layers(film, panel, k) for panel in film.panels]
    bodies = [q for panel in film.panels for q in _bodies(panel)]
    under, over = (merged(layer) for layer in zip(*drawn, strict=True))
    out = [frame(*bodies), under, over]
    if not (film.visits or film.states):
        titles = (
            f'<text x="{_n(panel.edge)}" y="{_n(panel.top - 8)}">{escape(panel.title)}</text>' for panel in film.panels
        )
        out.append(f'<g font-size="30" fill="{LIGHT["soft"]}">{"".join(titles)}</g>')
    w, h = round(film.width), round(film.height)
    out.insert(0, re.sub(r"</?g\b[^>]*>", "", "".join(_squares(film, k, heat=False))))
    if film.states:
        out.append(carried_svg.small(film.states, k))
    elif film.visits:
        h = round(film.visits.square.lens.tile[1] - 24)
    return f'<svg width="210" viewBox="0 0 {w} {h}" fill="none" aria-hidden="true">{coarse("".join(out))}</svg>'


def swatch(kind: str) -> str:
    """A small sample for the legend."""
    q = (2.0, 2.0, 22.0, 12.0)
    match kind:
        case "masked":
            inside = path("masked", hatch(q, 5), f'stroke="{LIGHT["mask"]}"') + rect(
                q, "box load", f'stroke="{LIGHT["mask"]}" stroke-dasharray="4 3"'
            )
        case "outside":
            lines = hatch(q, 7) + hatch(q, 7, back=True)
            inside = (
                rect(q, "outside", f'fill="{LIGHT["warn"]}" fill-opacity=".16"')
                + f'<path class="outside-lines" stroke="{LIGHT["warn"]}" d="{lines}"/>'
            )
        case "scores":
            levels = (0.2, 0.75, 0.45, 0.9, 0.3, 0.6)
            parts = [
                f'<g class="heat" fill="{LIGHT["dot"]}">',
                *(f'<path d="{block((2 + 3.7 * i, 2, 3.7, 12))}" fill-opacity="{p}"/>' for i, p in enumerate(levels)),
                "</g>",
            ]
            inside = "".join(parts) + rect(q, "edge dot", f'stroke="{LIGHT["dot"]}" stroke-width="2"')
        case "visited":
            inside = rect(q, "visited", f'fill="{LIGHT["dot"]}" fill-opacity=".14"') + rect(
                q, "grid", f'stroke="{LIGHT["faint"]}"'
            )
        case "hidden":
            inside = rect(q, "visited", f'fill="{LIGHT["dot"]}" fill-opacity=".14"')
            inside += f'<path class="masked thin" stroke="{LIGHT["mask"]}" d="{hatch(q, 4)}"/>'
        case "adds" | "reads":
            more = 'stroke-dasharray="5 3"' if kind == "reads" else ""
            inside = rect(q, f"pulse {kind}", f'stroke="{LIGHT["dot"]}" stroke-width="3" {more}')
        case "shared":
            inside = rect(q, "fill atomic", f'fill="{LIGHT["atomic"]}" fill-opacity=".14"')
            inside += f'<path class="shared" stroke="{LIGHT["atomic"]}" d="{hatch(q, 5)}"/>'
        case "told":
            inside = rect(q, "told", f'fill="{LIGHT["mask"]}" fill-opacity=".3"')
        case "skipped":
            inside = rect(q, "grid", f'stroke="{LIGHT["faint"]}"')
            inside += (
                f'<path class="skipped" stroke="{LIGHT["mask"]}" stroke-dasharray="2 3" d="M2 2L24 14M24 2L2 14"/>'
            )
        case _:
            colour = _colour(kind)
            inside = rect(q, f"fill {kind}", f'fill="{colour}" fill-opacity=".28"')
            inside += rect(q, f"edge {kind}", f'stroke="{colour}" stroke-width="{2.4 if kind == "load" else 5}"')
            if kind != "load":
                inside += rect(q, "inner", 'stroke="#fff" stroke-width="1.6"')
            inside += _plus(q) if kind == "atomic" else ""
    return f'<svg width="26" height="16" fill="none" aria-hidden="true">{inside}</svg>'
