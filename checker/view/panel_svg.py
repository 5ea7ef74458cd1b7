"""What stands still around a tensor without a script: its name, its indices, its grid, its values and its columns of state."""

from __future__ import annotations

from checker.view import sides as columns
from checker.view.film_model import Film
from checker.view.layout import Panel
from checker.view.shapes import Rect, border, path, tenths
from checker.view.theme import LIGHT, escape
from checker.view.tiles_svg import place, slice_shown, touched

NAME = f'class="name" font-weight="650" fill="{LIGHT["ink"]}"'


def label(panel: Panel, name: str) -> str:
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
            tail = f'{about} x="{tenths(x)}" dy="12">{escape(panel.about)}</tspan>'
    big = 11 if how in (1, 1.5) else 13
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return (
        f'<text x="{tenths(x)}" y="{tenths(y)}"{anchored} font-size="{big}"><tspan {NAME}>{name}</tspan>{tail}</text>'
    )


def axis(panel: Panel) -> str:
    """Index labels: every element where there is room, round steps where there is not."""
    above, beside = [], []
    wide, pitch = panel.blocks
    if wide > 1:  # the numbers of the blocks
        for i, c in enumerate(range(0, panel.cols, pitch)):
            middle = panel.x + (c + wide / 2) * panel.ux
            above.append(f'<text x="{tenths(middle)}" y="{tenths(panel.top - 5)}">chunk {i}</text>')
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
                above.append(f'<text x="{tenths(middle)}" y="{tenths(panel.top - 5)}">{i}</text>')
            else:
                beside.append(f'<text x="{tenths(panel.edge - 6)}" y="{tenths(middle + 3.5)}">{i}</text>')
    return _texts(above, "middle") + _texts(beside, "end")


def _texts(texts: list[str], anchor: str) -> str:
    shared = f'font-size="10" fill="{LIGHT["soft"]}" text-anchor="{anchor}"'
    return f"<g {shared}>{''.join(texts)}</g>" if texts else ""


def grid(panel: Panel, film: Film) -> str:
    """The lines between elements, or between tiles where elements are too small, and the frame."""
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
    d += [f"M{tenths(x0 + c * panel.ux)} {tenths(y0)}V{tenths(y1)}" for c in xs]
    d += [f"M{tenths(x0)} {tenths(y0 + r * panel.uy)}H{tenths(x1)}" for r in ys]
    return path(name, "".join(d), f'stroke="{LIGHT["faint"]}"') + border(*bodies(panel))


def bodies(panel: Panel) -> list[Rect]:
    """The whole tensor; one for each block where blocks stand side by side."""
    wide, pitch = panel.blocks
    if not wide:
        return [place(panel, (0, panel.rows, 0, panel.cols))]
    return [place(panel, (0, panel.rows, c, c + wide)) for c in range(0, panel.cols, pitch)]


def values(film: Film, panel: Panel, k: int) -> str:
    """Numbers in the cells at moment `k`."""
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
            out.append(f'<text x="{tenths(x)}" y="{tenths(y)}">{escape(text)}</text>')
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


def side_columns(film: Film, panel: Panel, k: int) -> str:
    """The columns of running state beside a panel."""
    if film.sides is None or film.panels[film.sides.panel] is not panel:
        return ""
    mine = [m for m in film.moments[: k + 1] if m.event.tensor == panel.name and m.flat]
    values = columns.layer(film.sides, panel, film.moments, k, slice_shown(mine, film.moments[k]))
    return columns.frame(film.sides, panel) + f'<g class="sides">{values}</g>'
