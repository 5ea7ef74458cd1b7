"""What a picture is made of: paths, texts, heat maps and bars; and their SVG for a page that is read without a script.

`player.js` draws the same four for every other moment. Colours are given twice: as attributes, for places that strip style
sheets, and by classes that follow the reader's theme.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from checker.view.theme import LIGHT

Rect = tuple[float, float, float, float]
"""x, y, width, height."""
NOTHING = Markup()
LEVELS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$"
"""One character for each of 64 levels; ``-`` ``+`` ``?`` are -inf, inf and NaN."""


@dataclass(frozen=True)
class Path:
    """Path data with a class that says how it is painted; several, separated by ``|``, are painted one over the other."""

    name: str
    d: str


@dataclass(frozen=True)
class Text:
    """A line of text; `anchor` is ``start``, ``middle`` or ``end``."""

    x: float
    y: float
    content: str
    name: str = ""
    size: float = 11
    anchor: str = "start"


@dataclass(frozen=True)
class Cells:
    """A heat map of `rows` x `columns` levels in `at`; only what lies within the `inside` part of its height and width is drawn.

    `signed`: level 31.5 is 0, what lies below has another colour. Cells of -inf are struck through; with `struck` nothing else is drawn.
    """

    at: Rect
    rows: int
    columns: int
    levels: str
    signed: bool = False
    inside: tuple[float, float] = (1.0, 1.0)
    struck: bool = False


@dataclass(frozen=True)
class Bars:
    """One bar for each level, from top to bottom; levels that are no number have none. Only the `inside` part is drawn."""

    at: Rect
    levels: str
    name: str = "bar-now"
    inside: float = 1.0


Shape = Path | Text | Cells | Bars
Picture = tuple[Shape, ...]


def pixels(value: float) -> str:
    """Rounded to tenths, halves up."""
    return f"{math.floor(value * 10 + 0.5) / 10:.1f}".removesuffix(".0")


def block(q: Rect) -> str:
    """Path data of a rectangle."""
    x, y, w, h = q
    return f"M{pixels(x)} {pixels(y)}h{pixels(w)}v{pixels(h)}h{pixels(-w)}z"


def rect(q: Rect, name: str) -> Path:
    return Path(name, block(q))


def rects(qs: Iterable[Rect], name: str) -> Path:
    """Rectangles that look alike, as one path. They must not overlap where they are filled."""
    return Path(name, "".join(map(block, qs)))


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


def plus_sign(q: Rect) -> Picture:
    """The sign of an atomic update, in the middle of a tile."""
    x, y, w, h = q
    reach = max(min(7.0, w / 2 - 1, h / 2 - 1), 3.0)
    d = f"M{pixels(x + w / 2 - reach)} {pixels(y + h / 2)}h{pixels(2 * reach)}M{pixels(x + w / 2)} {pixels(y + h / 2 - reach)}v{pixels(2 * reach)}"
    return (Path("plus-sign|plus-sign top", d),)


# ---- without a script ------------------------------------------------------------------------------------------------

_STROKE = {
    "grid": ("faint", 1), "tiles": ("faint", 0.7), "masked": ("mask", 1.1), "outside-lines": ("warn", 1.5), "box": ("", 1.2),
    "trail": ("", 1.4), "edge": ("", 2.4), "inner": ("bg", 1.6), "departs": ("warn", 2), "pulse": ("dot", 3),
    "guides": ("dot", 0.8), "skipped": ("mask", 1), "shared": ("atomic", 1), "plus-sign": ("bg", 6.5), "frame": ("soft", 1.2),
    "wrong-lines": ("warn", 1.2), "first-wrong": ("warn", 3), "points": ("warn", 1.5), "axis": ("soft", 1), "course": ("mask", 1.6),
}  # fmt: skip
_FILL = {
    "body": ("panel", 1), "seen": ("", 0.12), "ground": ("bg", 1), "fill": ("", 0.28), "outside": ("warn", 0.16),
    "visited": ("dot", 0.14), "told": ("mask", 0.3), "telling": ("mask", 0.4), "changes": ("mark", 1), "veil": ("bg", 0.8),
    "bar-now": ("dot", 1), "bar-past": ("mask", 1), "heat": ("dot", 1), "plus": ("store", 1), "minus": ("load", 1),
    "lost": ("warn", 1), "held": ("dot", 0.45),
    "wrong": ("warn", 0.16), "bar-new": ("load", 1), "bar-got": ("warn", 0.3),
}  # fmt: skip
_DASHED = {"box": "4 3", "guides": "3 3", "skipped": "2 3", "reads": "5 3"}
_BLOCK = re.compile(r"M(-?[\d.]+) (-?[\d.]+)h([\d.]+)v([\d.]+)h-[\d.]+z")
_DECIMAL = re.compile(r"-?\d+\.\d+")


def paint(name: str) -> Markup:
    """The attributes that say what the style sheet says about a class."""
    first, *more = name.split()
    kind = next((n for n in (*more, first) if n in ("load", "store", "atomic", "dot")), "dot")
    out = []
    if first in _FILL:
        colour, opacity = _FILL[first]
        out.append(Markup('fill="{}"').format(LIGHT[colour or kind]))
        if opacity != 1:
            out.append(Markup('fill-opacity="{:g}"').format(opacity))
    for part in (first, *more):
        if part in _STROKE:
            colour, wide = _STROKE[part]
            colour, wide = ("atomic", 3) if name == "plus-sign top" else (colour, wide)
            wide = 5 if name in ("edge store", "edge atomic") else wide
            out.append(Markup('stroke="{}" stroke-width="{:g}"').format(LIGHT[colour or kind], wide))
    out += [Markup('stroke-dasharray="{}"').format(dash) for part, dash in _DASHED.items() if part in name.split()]
    return Markup(" ").join(out)


def drawn(picture: Iterable[Shape]) -> Markup:
    """The SVG of some shapes, colours included."""
    return NOTHING.join(_drawn(shape) for shape in picture)


def _drawn(shape: Shape) -> Markup:
    match shape:
        case Path(name, d):
            return _path(name, d) if d else NOTHING
        case Text():
            return text(shape)
        case Cells():
            return _cells(shape)
        case Bars():
            return _path(shape.name, bars(shape))


def _path(names: str, d: str, more: Markup = NOTHING) -> Markup:
    path = Markup('<path class="{}" {} d="{}"/>')
    return NOTHING.join(path.format(n, more or paint(n), d) for n in names.split("|") if d)


def text(t: Text, slot: str = "", painted: bool = True) -> Markup:
    """A text element. Dark where it has a class of its own, soft where it has none."""
    more = Markup(' class="{}"').format(t.name) if t.name else NOTHING
    more += NOTHING if t.anchor == "start" else Markup(' text-anchor="{}"').format(t.anchor)
    colour = LIGHT["warn" if "warn" in t.name else "ink" if t.name else "soft"]
    more += Markup(' fill="{}"').format(colour) if painted else NOTHING
    return Markup('<text{} x="{}" y="{}" font-size="{:g}"{}>{}</text>').format(
        slot, pixels(t.x), pixels(t.y), t.size, more, t.content
    )


def _cells(shape: Cells) -> Markup:
    """One path for each level, in units of cells, equal neighbours in a row as one block; then the struck-through cells."""
    (x, y, w, h), paths, struck = shape.at, dict[str, str](), ""
    down, across = (part * n for part, n in zip(shape.inside, (shape.rows, shape.columns), strict=True))
    high, wide = math.ceil(down - 1e-9), math.ceil(across - 1e-9)
    w, h = w / shape.columns, h / shape.rows
    step = max(1, math.floor(3 / min(w, h) + 0.5))
    for r in range(high):
        start, row = 0, shape.levels[r * shape.columns : r * shape.columns + wide]
        for c, level in enumerate(row):
            if level == "-" and not shape.signed and (r + c) % step == 0:
                struck += f"M{pixels(x + c * w)} {pixels(y + (r + 1) * h)}l{pixels(w)} {pixels(-h)}"
            if c + 1 == wide or row[c + 1] != level:
                paths[level] = paths.get(level, "") + block((start, r, c + 1 - start, 1))
                start = c + 1
    shapes = [_level(LEVELS.find(level), d, shape.signed) for level, d in paths.items() if shape.signed or level != "-"]
    heat = Markup('<g transform="translate({} {}) scale({:.4g} {:.4g})">{}</g>').format(
        pixels(x), pixels(y), w, h, NOTHING.join(shapes)
    )
    return (NOTHING if shape.struck else heat) + _path("masked thin", struck)


def _level(n: int, d: str, signed: bool) -> Markup:
    if n < 0:
        return _path("lost", d)
    name = "heat" if not signed else "minus" if n < 32 else "plus"
    opacity = 0.94 * abs(n - 31.5) / 31.5 if signed else 0.04 + 0.94 * n / 63
    return _path(name, d, Markup('{} fill-opacity="{:.2f}"').format(paint(name), opacity))


def bars(shape: Bars) -> str:
    """Path data of all bars."""
    (x, y, w, h), d = shape.at, ""
    step = h / len(shape.levels)
    for r, level in enumerate(shape.levels):
        n = LEVELS.find(level)
        if n >= 0 and r < shape.inside * len(shape.levels):
            d += block((x + 1, y + r * step, 1 + (w - 3) * n / 63, max(step - 0.7, 0.7)))
    return d


_FINE = ("tiles", "grid", "guides", "shared", "masked thin")
"""What would only be a blur."""


def small(shapes: Iterable[Shape]) -> Markup:
    """The same picture in whole units and without words and fine lines, for one that is drawn small; heat maps are plain tiles.

    What looks alike is one path, where the first of it stood.
    """
    alike: dict[str, str] = {}
    for shape in shapes:
        match shape:
            case Path(name, d) if name not in _FINE:
                alike[name] = alike.get(name, "") + d
            case Cells((x, y, w, h), inside=(down, across), struck=False):
                alike["held"] = alike.get("held", "") + block((x, y, w * across, h * down))
    coarse = {n: _DECIMAL.sub(lambda m: str(_whole(m[0])), _BLOCK.sub(_corners, d)) for n, d in alike.items()}
    return NOTHING.join(_path(name, d) for name, d in coarse.items())


def _whole(value: str | float) -> int:
    return math.floor(float(value) + 0.5)


def _corners(match: re.Match[str]) -> str:
    x, y, w, h = map(float, match.groups())
    return f"M{_whole(x)} {_whole(y)}H{_whole(x + w)}V{_whole(y + h)}H{_whole(x)}z"
