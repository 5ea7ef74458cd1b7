"""The shapes that the static pictures are made of, written as the player writes them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from checker.view.theme import LIGHT, escape

_PATH = re.compile(r'<path class="([^"]*)" d="([^"]*)" ?([^>]*)/>')
_BLOCK = re.compile(r"M(-?[\d.]+) (-?[\d.]+)h([\d.]+)v([\d.]+)h-[\d.]+z")
_DECIMAL = re.compile(r"(?<=[ MHVLhvl\"])-?\d+\.\d+(?=[^\d\"])")
Rect = tuple[float, float, float, float]  # x, y, width, height


def pixels(value: float) -> str:
    """Rounded as the player rounds: halves go up."""
    return f"{math.floor(value * 10 + 0.5) / 10:.1f}".removesuffix(".0")


def block(q: Rect) -> str:
    """Path data of a rectangle."""
    x, y, w, h = q
    return f"M{pixels(x)} {pixels(y)}h{pixels(w)}v{pixels(h)}h{pixels(-w)}z"


def path(name: str, data: str, more: str = "") -> str:
    """One path; nothing where there is nothing to draw."""
    return f'<path class="{name}" d="{data}"{" " + more if more else ""}/>' if data else ""


def rect(q: Rect, name: str, more: str = "") -> str:
    return path(name, block(q), more)


def rects(qs: Iterable[Rect], name: str, more: str = "") -> str:
    """Rectangles that look alike, as one path. They must not overlap where they are filled."""
    return path(name, "".join(map(block, qs)), more)


def merged(shapes: Iterable[str]) -> str:
    """Paths that look alike as one, where the first of them stood. For shapes in places of their own."""
    alike: dict[tuple[str, str], str] = {}
    for name, data, more in _PATH.findall("".join(shapes)):
        alike[name, more] = alike.get((name, more), "") + data
    return "".join(path(name, data, more) for (name, more), data in alike.items())


def coarse(svg: str) -> str:
    """The same picture in whole units, for one that is drawn small; edges that met still meet."""
    return _DECIMAL.sub(lambda m: str(_whole(float(m[0]))), _BLOCK.sub(_corners, svg))


def _corners(match: re.Match[str]) -> str:
    x, y, w, h = map(float, match.groups())
    return f"M{_whole(x)} {_whole(y)}H{_whole(x + w)}V{_whole(y + h)}H{_whole(x)}z"


def _whole(value: float) -> int:
    return math.floor(value + 0.5)


def frame(*qs: Rect) -> str:
    """Empty fields with their borders."""
    return rects(qs, "body frame", f'fill="{LIGHT["panel"]}" stroke="{LIGHT["soft"]}"')


def ground(*qs: Rect) -> str:
    return rects(qs, "body", f'fill="{LIGHT["panel"]}"')


def border(*qs: Rect) -> str:
    return rects(qs, "frame", f'stroke="{LIGHT["soft"]}"')


def text(x: float, y: float, said: str, name: str = "", size: float = 11, anchor: str = "start", fill: str = "") -> str:
    """A line of text; dark where it has a class of its own and soft where it has none, if no `fill` is given."""
    more = f' class="{name}"' if name else ""
    more += "" if anchor == "start" else f' text-anchor="{anchor}"'
    fill = fill or (LIGHT["ink"] if name else LIGHT["soft"])
    return f'<text x="{pixels(x)}" y="{pixels(y)}" font-size="{size}"{more} fill="{fill}">{escape(said)}</text>'


def hatch(q: Rect, step: float, back: bool = False) -> str:
    """Path data of diagonal lines that fill a rectangle."""
    x, y, w, h = q
    d, t = [], step
    while t < w + h:
        ax, ay, bx, by = min(t, w), max(0.0, t - w), max(0.0, t - h), min(t, h)
        if back:
            ax, bx = w - ax, w - bx
        d.append(f"M{tenths(x + ax)} {tenths(y + ay)}L{tenths(x + bx)} {tenths(y + by)}")
        t += step
    return "".join(d)


def tenths(value: float) -> str:
    """Rounded half to even, for what only Python draws."""
    return f"{value:.1f}".removesuffix(".0")
