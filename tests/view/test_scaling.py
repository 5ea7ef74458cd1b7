"""The plot of measured points against a law."""

from __future__ import annotations

import re

import pytest

from checker.view.scaling import Panel, scaling_plot


def panel() -> Panel:
    return Panel("N", (64, 128), {"queries outside": (10.0, 40.0)}, {"queries outside": (8.0, 32.0)})


def test_points_laws_and_words_are_there():
    plot = scaling_plot([panel(), panel()], unit="kB", title="Counted")
    assert len(re.findall(r"<g id=\"axes_", plot.svg)) == 2
    assert "queries outside" in plot.svg
    assert "stroke-dasharray" in plot.svg
    assert plot.alt.startswith("Counted. kB: queries outside at N 64: 10, 128: 40")


def test_where_html_cannot_be_shown_its_title_is():
    assert repr(scaling_plot([panel()], unit="kB", title="Counted")) == "<plot: Counted>"


def test_it_is_the_same_every_time():
    assert scaling_plot([panel()], unit="kB").svg == scaling_plot([panel()], unit="kB").svg


def test_nothing_to_plot_is_refused():
    with pytest.raises(ValueError, match="at least one panel"):
        scaling_plot([], unit="kB")
