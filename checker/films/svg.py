"""What a picture is made of, and its SVG: paths, texts and heat maps.

Colours are given twice: by classes, which follow the reader's theme, and as attributes, for places that strip style sheets.
Both come from ``shapes.css``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from markupsafe import Markup

from checker.view.theme import LIGHT, asset

Rect = tuple[float, float, float, float]
"""x, y, width, height."""
NOTHING = Markup()
LEVELS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$"
"""One character for each of 64 levels; ``-`` ``+`` ``?`` are -inf, inf and NaN."""


@dataclass(frozen=True)
class Path:
    """Path data with the class that paints it. Several classes, separated by ``|``, paint it several times, one over the other."""

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
    """A heat map of `rows` x `columns` levels in `at`, cut to the `inside` part of its height and width.

    If `signed`, level 31.5 is 0 and lower levels have another colour. Otherwise cells of -inf are struck through.
    """

    at: Rect
    rows: int
    columns: int
    levels: str
    signed: bool = False
    inside: tuple[float, float] = (1.0, 1.0)

    @property
    def unit(self) -> tuple[float, float]:
        """Width and height of a cell."""
        return self.at[2] / self.columns, self.at[3] / self.rows

    @property
    def lines(self) -> list[str]:
        """The levels that are drawn, row by row."""
        high, wide = (
            math.ceil(part * n - 1e-9) for part, n in zip(self.inside, (self.rows, self.columns), strict=True)
        )
        return [self.levels[r * self.columns :][:wide] for r in range(high)]


Shape = Path | Text | Cells
Picture = tuple[Shape, ...]


def pixels(value: float) -> str:
    """Rounded to tenths, halves up."""
    return f"{math.floor(value * 10 + 0.5) / 10:.1f}".removesuffix(".0")


def block(q: Rect) -> str:
    """Path data of a rectangle."""
    x, y, w, h = q
    return f"M{pixels(x)} {pixels(y)}h{pixels(w)}v{pixels(h)}h{pixels(-w)}z"


def line(x: float, y: float, dx: float, dy: float) -> str:
    """Path data of a line from a point, by so much."""
    end = f"h{pixels(dx)}" if not dy else f"v{pixels(dy)}" if not dx else f"l{pixels(dx)} {pixels(dy)}"
    return f"M{pixels(x)} {pixels(y)}{end}"


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


def plus_sign(q: Rect) -> Path:
    """The sign of an atomic update, in the middle of a tile."""
    x, y, w, h = q
    reach = max(min(7.0, w / 2 - 1, h / 2 - 1), 3.0)
    across, down = line(x + w / 2 - reach, y + h / 2, 2 * reach, 0), line(x + w / 2, y + h / 2 - reach, 0, 2 * reach)
    return Path("plus-sign|plus-sign top", across + down)


def bars(q: Rect, levels: str, name: str = "bar-now", inside: float = 1.0) -> Path:
    """One bar for each level, from top to bottom, cut to the `inside` part. A level that is not a number has no bar."""
    x, y, w, h = q
    step = h / len(levels)
    lengths = [LEVELS.find(level) for level in levels[: math.ceil(inside * len(levels))]]
    return rects(
        ((x + 1, y + r * step, 1 + (w - 3) * n / 63, max(step - 0.7, 0.7)) for r, n in enumerate(lengths) if n >= 0),
        name,
    )


def strikes(cells: Cells) -> Path:
    """Lines through the cells of -inf: through each if there is room, else through every second or third."""
    (x, y, *_), (w, h) = cells.at, cells.unit
    step = max(1, math.floor(3 / min(w, h) + 0.5))
    places = (
        (r, c)
        for r, row in enumerate(cells.lines)
        for c, level in enumerate(row)
        if level == "-" and (r + c) % step == 0
    )
    return Path("masked thin", "".join(line(x + c * w, y + (r + 1) * h, w, -h) for r, c in places))


# ---- as markup -------------------------------------------------------------------------------------------------------

_RULE = re.compile(r"^(\.[\w.,-]+)\{(.*)\}$", re.MULTILINE)
_PAINTED = ("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray")


@cache
def _rules() -> Sequence[tuple[frozenset[str], Mapping[str, str]]]:
    """The rules of ``shapes.css``: the classes that each needs, and what it sets."""
    rules = _RULE.findall(asset("checker.films", "shapes.css"))
    parsed = [(selectors.split(","), dict(d.split(":") for d in body.split(";"))) for selectors, body in rules]
    return [(frozenset(selector[1:].split(".")), body) for selectors, body in parsed for selector in selectors]


@cache
def paint(name: str) -> Markup:
    """The attributes of a class, in the light theme's colours."""
    classes, looks = set(name.split()), dict[str, str]()
    for needed, body in _rules():
        looks |= body if needed <= classes else {}
    kind = looks.get("--kind", "var(--dot)")
    values = {key: looks[key].replace("var(--kind)", kind) for key in _PAINTED if key in looks}
    return Markup(" ").join(
        Markup('{}="{}"').format(key, re.sub(r"var\(--(\w+)\)", lambda m: LIGHT[m[1]], value))
        for key, value in values.items()
    )


def drawn(picture: Iterable[Shape]) -> Markup:
    """The SVG of some shapes, colours included."""
    return NOTHING.join(_drawn(shape) for shape in picture)


def _drawn(shape: Shape) -> Markup:
    match shape:
        case Path(name, d):
            return _path(name, d)
        case Text():
            return text(shape)
        case Cells():
            return _heat(shape) + (NOTHING if shape.signed else drawn((strikes(shape),)))


def _path(names: str, d: str, more: Markup = NOTHING) -> Markup:
    path = Markup('<path class="{}" {}{} d="{}"/>')
    return NOTHING.join(path.format(name, paint(name), more, d) for name in names.split("|") if d)


def text(t: Text, slot: str = "") -> Markup:
    """A text element: dark if it has a class, else soft."""
    name = Markup(' class="{}"').format(t.name) if t.name else NOTHING
    anchor = Markup(' text-anchor="{}"').format(t.anchor) if t.anchor != "start" else NOTHING
    colour = LIGHT["warn" if "warn" in t.name else "ink" if t.name else "soft"]
    return Markup('<text{} x="{}" y="{}" font-size="{:g}"{}{} fill="{}">{}</text>').format(
        slot, pixels(t.x), pixels(t.y), t.size, name, anchor, colour, t.content
    )


def _heat(cells: Cells) -> Markup:
    """One path for each level, in units of cells, with a thick line for equal neighbours in a row."""
    paths: dict[str, str] = {}
    pens: dict[str, tuple[int, int]] = {}
    for r, row in enumerate(cells.lines):
        for run in re.finditer(r"(.)\1*", row):
            level, (start, stop) = run[1], run.span()
            x, y = pens.get(level, (0, 0))
            paths[level] = paths.get(level, "") + f"m{start - x} {r - y}h{stop - start}"
            pens[level] = stop, r
    levels = [_level(LEVELS.find(level), d, cells.signed) for level, d in paths.items() if cells.signed or level != "-"]
    (x0, y0, *_), (w, h) = cells.at, cells.unit
    place = Markup('<g transform="translate({} {}) scale({:.5g} {:.5g})">{}</g>')
    return place.format(pixels(x0), f"{y0 + h / 2:.5g}", w, h, NOTHING.join(levels))


def _level(n: int, d: str, signed: bool) -> Markup:
    if n < 0:
        return _path("lost", d)
    name = "heat" if not signed else "minus" if n < 32 else "plus"
    opacity = 0.94 * abs(n - 31.5) / 31.5 if signed else 0.04 + 0.94 * n / 63
    return _path(name, d, Markup(' stroke-opacity="{:.2f}"').format(opacity))


_FINE = ("tiles", "grid", "guides", "shared", "masked thin", "bar-now", "bar-past")
"""Would only blur a small picture."""


def small(shapes: Iterable[Shape]) -> Markup:
    """The picture without words and fine lines, for one that is drawn small. Heat maps are plain tiles.

    Shapes that look alike become one path, in the place of the first.
    """
    alike: dict[str, str] = {}
    for shape in shapes:
        match shape:
            case Path(name, d) if name not in _FINE:
                alike[name] = alike.get(name, "") + d
            case Cells((x, y, w, h), inside=(down, across)):
                alike["held"] = alike.get("held", "") + block((x, y, w * across, h * down))
    return NOTHING.join(_path(name, d) for name, d in alike.items())
