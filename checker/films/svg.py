"""The SVG of what a picture is made of: paths, texts, bars and heat maps. ``shapes.css`` paints them by their classes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from markupsafe import Markup

Rect = tuple[float, float, float, float]
"""x, y, width, height."""
Heat = tuple[int, int, str]
"""Rows, columns, levels."""
WHOLE = (1.0, 1.0)
"""The parts of a tile's height and width that are inside its tensor, where all of it is."""
NOTHING = Markup()
LEVELS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$"
"""One character for each of 64 levels; ``-`` ``+`` ``?`` are -inf, inf and NaN."""


def pixels(value: float) -> str:
    """Rounded to tenths, halves up."""
    return f"{math.floor(value * 10 + 0.5) / 10:.1f}".removesuffix(".0")


def path(names: str, d: str, more: Markup = NOTHING) -> Markup:
    """A path with the class that paints it. Several classes, separated by ``|``, paint it several times, one over the other."""
    element = Markup('<path class="{}"{} d="{}"/>')
    return NOTHING.join(element.format(name, more, d) for name in names.split("|") if d)


def text(
    x: float, y: float, content: str, name: str = "", size: float = 11, anchor: str = "start", more: Markup = NOTHING
) -> Markup:
    """A line of text; `anchor` is ``start``, ``middle`` or ``end``."""
    kind = Markup(' class="{}"').format(name) if name else NOTHING
    side = Markup(' text-anchor="{}"').format(anchor) if anchor != "start" else NOTHING
    element = Markup('<text x="{}" y="{}" font-size="{:g}"{}{}{}>{}</text>')
    return element.format(pixels(x), pixels(y), size, kind, side, more, content)


def block(q: Rect) -> str:
    """Path data of a rectangle."""
    x, y, w, h = q
    return f"M{pixels(x)} {pixels(y)}h{pixels(w)}v{pixels(h)}h{pixels(-w)}z"


def line(x: float, y: float, dx: float, dy: float) -> str:
    """Path data of a line from a point, by so much."""
    end = f"h{pixels(dx)}" if not dy else f"v{pixels(dy)}" if not dx else f"l{pixels(dx)} {pixels(dy)}"
    return f"M{pixels(x)} {pixels(y)}{end}"


def rect(q: Rect, name: str) -> Markup:
    return path(name, block(q))


def rects(qs: Iterable[Rect], name: str) -> Markup:
    """Rectangles that look alike, as one path. They must not overlap where they are filled."""
    return path(name, "".join(map(block, qs)))


def hatch(q: Rect, step: float, back: bool = False) -> str:
    """Path data of diagonal lines that fill a rectangle."""
    x, y, w, h = q
    d, t = [], step
    while t < w + h:
        ax, ay, bx, by = min(t, w), max(0.0, t - w), max(0.0, t - h), min(t, h)
        if back:
            ax, bx = w - ax, w - bx
        d.append(f"M{pixels(x + ax)} {pixels(y + ay)}L{pixels(x + bx)} {pixels(y + by)}")
        t += step
    return "".join(d)


def plus_sign(q: Rect) -> Markup:
    """The sign of an atomic update, in the middle of a tile."""
    x, y, w, h = q
    reach = max(min(7.0, w / 2 - 1, h / 2 - 1), 3.0)
    across, down = line(x + w / 2 - reach, y + h / 2, 2 * reach, 0), line(x + w / 2, y + h / 2 - reach, 0, 2 * reach)
    return path("plus-sign|plus-sign top", across + down)


def bars(q: Rect, levels: str, name: str = "bar-now", inside: float = 1.0) -> Markup:
    """One bar for each level, from top to bottom, cut to the `inside` part. A level that is not a number has no bar.

    There may be no level: a program past the end owns no row.
    """
    x, y, w, h = q
    step = h / max(len(levels), 1)
    lengths = [LEVELS.find(level) for level in levels[: math.ceil(inside * len(levels))]]
    return rects(
        ((x + 1, y + r * step, 1 + (w - 3) * n / 63, max(step - 0.7, 0.7)) for r, n in enumerate(lengths) if n >= 0),
        name,
    )


# ---- heat maps ---------------------------------------------------------------------------------------------------------


def cells(at: Rect, heat: Heat, signed: bool, inside: tuple[float, float] = WHOLE) -> Markup:
    """A heat map, cut to the `inside` part of its height and width.

    If `signed`, level 31.5 is 0 and lower levels have another colour. Otherwise cells of -inf are struck through. One path for each
    level, in units of cells, with a thick line for equal neighbours in a row.
    """
    paths: dict[str, str] = {}
    pens: dict[str, tuple[int, int]] = {}
    for r, row in enumerate(_lines(heat, inside)):
        for run in re.finditer(r"(.)\1*", row):
            level, (start, stop) = run[1], run.span()
            x, y = pens.get(level, (0, 0))
            paths[level] = paths.get(level, "") + f"m{start - x} {r - y}h{stop - start}"
            pens[level] = stop, r
    levels = [_level(LEVELS.find(level), d, signed) for level, d in paths.items() if signed or level != "-"]
    (x0, y0, wide, high), (rows, columns, _) = at, heat
    place = Markup('<g transform="translate({} {}) scale({:.5g} {:.5g})">{}</g>')
    h = high / rows
    drawn = place.format(pixels(x0), f"{y0 + h / 2:.5g}", wide / columns, h, NOTHING.join(levels))
    return drawn + (NOTHING if signed else strikes(at, heat, inside))


def strikes(at: Rect, heat: Heat, inside: tuple[float, float] = WHOLE) -> Markup:
    """Lines through the cells of -inf: through each if there is room, else through every second or third."""
    (x, y, wide, high), (rows, columns, _) = at, heat
    w, h = wide / columns, high / rows
    step = max(1, math.floor(3 / min(w, h) + 0.5))
    places = (
        (r, c)
        for r, row in enumerate(_lines(heat, inside))
        for c, level in enumerate(row)
        if level == "-" and (r + c) % step == 0
    )
    return path("masked thin", "".join(line(x + c * w, y + (r + 1) * h, w, -h) for r, c in places))


def _lines(heat: Heat, inside: tuple[float, float]) -> list[str]:
    """The levels that are drawn, row by row."""
    rows, columns, levels = heat
    high, wide = (math.ceil(part * n - 1e-9) for part, n in zip(inside, (rows, columns), strict=True))
    return [levels[r * columns :][:wide] for r in range(high)]


def _level(n: int, d: str, signed: bool) -> Markup:
    if n < 0:
        return path("lost", d)
    name = "heat" if not signed else "minus" if n < 32 else "plus"
    opacity = 0.94 * abs(n - 31.5) / 31.5 if signed else 0.04 + 0.94 * n / 63
    return path(name, d, Markup(' stroke-opacity="{:.2f}"').format(opacity))
