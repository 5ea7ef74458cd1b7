"""Plots on light and dark pages: every word is drawn in a colour of the theme, and the theme's colours can be read."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

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


def traffic(name: str = "online_softmax") -> Plot:
    return traffic_plot([("row_softmax", 128_000, 128_000), (name, 192_000, 256_000)], title="Bytes")


def scaling(name: str = "queries outside") -> Plot:
    subplot = Subplot("N", (64, 128), {name: (10.0, 40.0)}, {name: (8.0, 32.0)})
    return scaling_plot([subplot, subplot], unit="kB", title="Counted")


def curves(name: str = "by PyTorch") -> Plot:
    return curves_plot({name: [2.5, 1.0, 0.5], "by your kernels": [2.5, 1.1]}, x="step", y="loss", title="Sorting")


def times(name: str = "yours") -> Plot:
    return time_plot([Bar(name, 2.0e-3, 1.9e-3, 2.2e-3), Bar("cuDNN", 1.5e-3, 1.4e-3, 1.6e-3)], 1.0e-3, title="Time")


def roofline(name: str = "yours") -> Plot:
    return roofline_plot([(name, 5.0e14), ("cuDNN", 6.0e14)], 4096.0, Roof("a GPU", 4.0e12, 7.0e14), title="Roof")


def levels(name: str = "plain") -> Plot:
    return levels_plot({name: (338, 310), "specialised": (611, 522)}, ("full", "causal"), 686, title="Levels")


PLOTS = {made.__name__: made for made in (traffic, scaling, curves, times, roofline, levels)}


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["bg", "panel"])
@pytest.mark.parametrize("name", ["ink", "soft", "bad", "good", "keyword", "string", "number"])
def test_words_can_be_read_in_both_themes(name: str, ground: str, palette: dict[str, str]) -> None:
    assert contrast(palette[name], palette[ground]) >= READABLE


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_takes_its_colours_and_its_ground_from_the_page(name: str) -> None:
    plot = PLOTS[name]()
    styles = [node.attrib.get("style", "") for node in ET.fromstring(plot.svg).iter(f"{SVG}text")]
    assert len(styles) >= 4
    assert all("fill: var(--soft," in style for style in styles)
    left = set(re.findall(r"(?<!,)#[0-9a-f]{6}", plot.svg))
    assert not left, f"colours that stay the same on a dark page: {left}"
    page = plot._repr_html_()
    assert "background:var(--bg)" in page
    assert "[data-jp-theme-light=false] .tbt-plot" in page
    assert len(page) < 50_000


@pytest.mark.filterwarnings("ignore:Glyph", "ignore:constrained_layout")
@pytest.mark.parametrize("name", PLOTS)
def test_hostile_names_stay_text(name: str) -> None:
    page = Page(PLOTS[name](HOSTILE)._repr_html_())
    assert page.harmless
    assert HOSTILE in page.text
    assert any(HOSTILE in (attrs.get("aria-label") or "") for _, attrs in page.tags)


def test_a_plot_changes_nothing_else_on_its_page_and_is_the_same_every_time() -> None:
    for drawn in (lambda: traffic().svg, lambda: scaling().svg, lambda: error_map(verdicts.mismatch())):
        assert "<style" not in drawn(), "matplotlib's style sheet would reach every element of the page"
        assert drawn() == drawn()


def test_the_traffic_plot_says_its_numbers() -> None:
    plot = traffic()
    words = " ".join("".join(node.itertext()) for node in ET.fromstring(plot.svg).iter(f"{SVG}text"))
    assert "128 kB counted, as predicted" in words
    assert "256 kB counted, 1.33 × predicted" in words
    assert "online_softmax: 192 kB predicted, 256 kB counted" in plot.alt


def test_the_scaling_plot_has_points_laws_and_words() -> None:
    plot = scaling()
    assert len(re.findall(r"<g id=\"axes_", plot.svg)) == 2
    assert "queries outside" in plot.svg
    assert "stroke-dasharray" in plot.svg
    assert plot.alt.startswith("Counted. kB: queries outside at N 64: 10, 128: 40")
    assert repr(plot) == "<plot: Counted>", "where HTML cannot be shown, its title is"


def test_the_curves_plot_has_a_line_for_each_name_and_says_where_they_lead() -> None:
    plot = curves()
    assert plot.alt == "Sorting. loss: by PyTorch from 2.50 to 0.50; by your kernels from 2.50 to 1.10."
    assert "by your kernels" in plot.svg


def test_the_plots_of_speed_say_their_numbers() -> None:
    assert times().alt == "Time. yours: 2 ms; cuDNN: 1.5 ms; no kernel goes below 1 ms."
    assert roofline().alt == "Roof. Roofline of a GPU: yours: 500 TFLOP/s; cuDNN: 600 TFLOP/s; the roof is at 700."
    assert "plain: 338 full, 310 causal" in levels().alt
    assert "338, 49 %" in levels().svg


@pytest.mark.parametrize(
    ("draw", "needed"),
    [
        (lambda: traffic_plot([]), "at least one kernel"),
        (lambda: scaling_plot([], unit="kB"), "at least one subplot"),
        (lambda: curves_plot({}, x="step", y="loss"), "at least one curve"),
        (lambda: time_plot([], 1.0), "at least one bar"),
        (lambda: levels_plot({}, ("full",), 686), "at least one level"),
    ],
    ids=["traffic", "scaling", "curves", "times", "levels"],
)
def test_nothing_to_plot_is_refused(draw: Callable[[], Plot], needed: str) -> None:
    with pytest.raises(ValueError, match=needed):
        draw()
