"""Plots on light and dark pages: words and grounds follow the theme, and the theme's colours are legible."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping

import pytest

from checker.view.error_map import error_map
from checker.view.plots import (
    Bar,
    Plot,
    Roof,
    Subplot,
    curves_plot,
    levels_plot,
    roofline_plot,
    scaling_plot,
    time_plot,
    traffic_plot,
)
from checker.view.theme import DARK, LIGHT
from tests.view import verdicts
from tests.view.pages import HOSTILE, Page, contrast

SVG = "{http://www.w3.org/2000/svg}"
READABLE = 4.5  # WCAG 2.2, 1.4.3: contrast of text with its ground, level AA

PLOTS: Mapping[str, Callable[[str], Plot]] = {
    "Bytes. row_softmax: 128 kB predicted, 128 kB counted; yours: 192 kB predicted, 256 kB counted.": lambda name: (
        traffic_plot([("row_softmax", 128_000, 128_000), (name, 192_000, 256_000)], title="Bytes")
    ),
    "Counted. kB: yours at N 64: 10, 128: 40.": lambda name: scaling_plot(
        [Subplot("N", (64, 128), {name: (10.0, 40.0)}, {name: (8.0, 32.0)})], unit="kB", title="Counted"
    ),
    "Sorting. loss: yours from 2.50 to 0.50; by PyTorch from 2.50 to 1.10.": lambda name: curves_plot(
        {name: [2.5, 1.0, 0.5], "by PyTorch": [2.5, 1.1]}, x="step", y="loss", title="Sorting"
    ),
    "Time. yours: 2 ms; cuDNN: 1.5 ms; no kernel goes below 1 ms.": lambda name: time_plot(
        [Bar(name, 2.0e-3, 1.9e-3, 2.2e-3), Bar("cuDNN", 1.5e-3, 1.4e-3, 1.6e-3)], 1.0e-3, title="Time"
    ),
    "Roof. Roofline of a GPU: yours: 500 TFLOP/s; cuDNN: 600 TFLOP/s; the roof is at 700.": lambda name: roofline_plot(
        [(name, 5.0e14), ("cuDNN", 6.0e14)], 4096.0, Roof("a GPU", 4.0e12, 7.0e14), title="Roof"
    ),
    "Levels. TFLOP/s: yours: 338 full, 310 causal; specialised: 611 full, 522 causal. Products of matrices: 686.": (
        lambda name: levels_plot({name: (338, 310), "specialised": (611, 522)}, ("full", "causal"), 686, title="Levels")
    ),
}


def test_words_are_legible_in_both_themes() -> None:
    names = ("ink", "soft", "bad", "good", "keyword", "string", "number")
    for palette, ground, name in itertools.product((LIGHT, DARK), ("bg", "panel"), names):
        assert contrast(palette[name], palette[ground]) >= READABLE, (name, ground)


@pytest.mark.filterwarnings("ignore:Glyph", "ignore:constrained_layout")
def test_plots_state_their_numbers_follow_the_theme_and_escape_names() -> None:
    for alt, draw in PLOTS.items():
        plot = draw("yours")
        assert plot.alt == alt
        assert repr(plot) == f"<plot: {alt.partition('. ')[0]}>", "its title, where HTML cannot be shown"
        styles = [node.attrib.get("style", "") for node in ET.fromstring(plot.svg).iter(f"{SVG}text")]
        assert len(styles) >= 4
        assert all("fill: var(--soft," in style for style in styles)
        assert not re.findall(r"(?<!,)#[0-9a-f]{6}", plot.svg), "colours that stay the same on a dark page"
        page = plot._repr_html_()
        assert "background:var(--bg)" in page
        assert "[data-jp-theme-light=false] .tbt-plot" in page
        assert len(page) < 50_000
        hostile = Page(draw(HOSTILE)._repr_html_())
        assert hostile.harmless
        assert HOSTILE in hostile.text
        assert any(HOSTILE in (attrs.get("aria-label") or "") for _, attrs in hostile.tags)


def test_a_plot_changes_nothing_else_on_its_page_and_is_the_same_every_time() -> None:
    draws = [lambda draw=draw: draw("yours").svg for draw in (*PLOTS.values(),)[:2]]
    for draw in (*draws, lambda: error_map(verdicts.mismatch())):
        assert "<style" not in draw(), "matplotlib's style sheet would reach every element of the page"
        assert draw() == draw()
