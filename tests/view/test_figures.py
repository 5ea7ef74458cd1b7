"""The notebooks' figures on a dark page: no white ground remains, and every word is legible in both themes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.view.pages import contrast, luminance

FIGURES = sorted((Path(__file__).parents[2] / "notebooks" / "src" / "figures").glob("*.svg"))


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_a_figure_has_a_dark_twin_of_every_colour(path: Path) -> None:
    text = path.read_text("utf-8")
    match = re.search(r"<style>@media\(prefers-color-scheme:dark\)\{(.*)\}</style>", text)
    assert match is not None
    dark = {(a, c): d for a, c, b, d in re.findall(r'\[(fill|stroke)="(#\w+)"\]\{(fill|stroke):(#\w+)\}', match[1])}
    used = set(re.findall(r'(fill|stroke)="(#\w+)"', text.replace(match[0], "")))
    assert used <= set(dark)
    assert all(luminance(d) < 0.1 for (a, c), d in dark.items() if a == "fill" and luminance(c) > 0.6), "no white slab"
    for colour in set(re.findall(r'<text[^>]*? fill="(#\w+)"', text)) - {"#fff"}:
        assert contrast(colour, "#fff") >= 4.5, colour
        assert contrast(dark["fill", colour], dark.get(("fill", "#fff"), "#16191d")) >= 4.5, colour
