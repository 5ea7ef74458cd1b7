"""Figures on light and dark pages: every word is drawn in a colour of the theme, and the theme's colours can be read."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from checker.view.error_map import error_map
from checker.view.plots import Svg, traffic_plot
from checker.view.scaling import Panel, scaling_plot
from checker.view.theme import DARK, LIGHT
from tests.view import verdicts

SVG = "{http://www.w3.org/2000/svg}"
READABLE = 4.5  # WCAG 2.2, 1.4.3: contrast of text with its ground, level AA


def plots() -> dict[str, Svg]:
    panel = Panel("N", (64, 128), {"queries": (10.0, 40.0)}, {"queries": (8.0, 32.0)})
    return {
        "traffic": traffic_plot({"row_softmax": (128_000, 256_000)}, title="Bytes"),
        "scaling": scaling_plot([panel, panel], unit="kB", title="Counted"),
    }


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb`` as WCAG 2.2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["bg", "panel"])
@pytest.mark.parametrize("name", ["ink", "soft", "bad", "good", "keyword", "string", "number"])
def test_words_can_be_read_in_both_themes(name: str, ground: str, palette: dict[str, str]) -> None:
    assert contrast(palette[name], palette[ground]) >= READABLE


@pytest.mark.parametrize("name", ["traffic", "scaling"])
def test_a_plot_takes_its_colours_and_its_ground_from_the_page(name: str) -> None:
    plot = plots()[name]
    styles = [node.attrib.get("style", "") for node in ET.fromstring(plot.svg).iter(f"{SVG}text")]
    assert len(styles) >= 4
    assert all("fill: var(--soft," in style for style in styles)
    left = set(re.findall(r"(?<!,)#[0-9a-f]{6}", plot.svg))
    assert not left, f"colours that stay the same on a dark page: {left}"
    page = plot._repr_html_()
    assert "background:var(--bg)" in page
    assert "[data-jp-theme-light=false] .tbt-plot" in page


def test_a_figure_changes_nothing_else_on_its_page() -> None:
    drawn = [*(plot.svg for plot in plots().values()), error_map(verdicts.mismatch())]
    assert not any("<style" in svg for svg in drawn), "matplotlib's style sheet would reach every element of the page"
