"""Heat maps and bars: numbers as 64 levels, one character each, and their picture without a script."""

from __future__ import annotations

from checker.view.shapes import Rect, block, path, pixels
from checker.view.theme import LIGHT

LEVELS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$"
"""One character for each of 64 levels; ``-`` ``+`` ``?`` are -inf, inf and NaN."""
Heat = tuple[int, int, str]
"""Rows, columns, levels."""


def heat_map(q: Rect, heat: Heat, signed: bool, down: float = 1.0, across: float = 1.0) -> str:
    """One path for each level, in units of cells, equal neighbours in a row as one block.

    Only the given parts of its height and width are drawn. `signed`: level 31.5 is 0, what lies below has another colour.
    """
    rows, cols, levels = heat
    paths: dict[str, str] = {}
    wide = next((c for c in range(cols) if c >= across * cols), cols)
    for r in range(rows):
        if r >= down * rows:
            break
        start = 0
        for c in range(wide):
            level = levels[r * cols + c]
            if c + 1 == wide or levels[r * cols + c + 1] != level:
                paths[level] = paths.get(level, "") + block((start, r, c + 1 - start, 1))
                start = c + 1
    out = "".join(_level(LEVELS.find(level), d, signed) for level, d in paths.items() if signed or level != "-")
    x, y, w, h = q
    return f'<g transform="translate({pixels(x)} {pixels(y)}) scale({w / cols:.4g} {h / rows:.4g})">{out}</g>'


def _level(n: int, d: str, signed: bool) -> str:
    if n < 0:
        return path("lost", d, f'fill="{LIGHT["warn"]}"')
    if not signed:
        return path("heat", d, f'fill="{LIGHT["dot"]}" fill-opacity="{0.04 + 0.94 * n / 63:.2f}"')
    name, colour = ("minus", LIGHT["load"]) if n < 32 else ("plus", LIGHT["store"])
    return path(name, d, f'fill="{colour}" fill-opacity="{0.94 * abs(n - 31.5) / 31.5:.2f}"')


def bars(q: Rect, levels: str, down: float = 1.0) -> str:
    """One bar for each number, as one path."""
    x, y, w, h = q
    step, d = h / len(levels), ""
    for r, level in enumerate(levels):
        n = LEVELS.find(level)
        if n >= 0 and r < down * len(levels):
            d += block((x + 1, y + r * step, 1 + (w - 3) * n / 63, max(step - 0.7, 0.7)))
    return path("bar-now", d, f'fill="{LIGHT["dot"]}"')
