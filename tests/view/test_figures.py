"""The notebooks' figures follow a dark page: no white ground is left on it, and every word can be read on either."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FIGURES = sorted((Path(__file__).parents[2] / "notebooks" / "src" / "figures").glob("*.svg"))


def brightness(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(brightness, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_a_figure_has_a_dark_twin_of_every_colour(path: Path) -> None:
    text = path.read_text("utf-8")
    match = re.search(r"<style>@media\(prefers-color-scheme:dark\)\{(.*)\}</style>", text)
    assert match is not None
    dark = {(a, c): d for a, c, b, d in re.findall(r'\[(fill|stroke)="(#\w+)"\]\{(fill|stroke):(#\w+)\}', match[1])}
    used = set(re.findall(r'(fill|stroke)="(#\w+)"', text.replace(match[0], "")))
    assert used <= set(dark)
    assert all(brightness(d) < 0.1 for (a, c), d in dark.items() if a == "fill" and brightness(c) > 0.6), (
        "no white slab"
    )
    for colour in set(re.findall(r'<text[^>]*? fill="(#\w+)"', text)) - {"#fff"}:
        assert contrast(colour, "#fff") >= 4.5, colour
        assert contrast(dark["fill", colour], dark.get(("fill", "#fff"), "#16191d")) >= 4.5, colour
