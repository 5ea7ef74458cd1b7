"""Controls that run a film again, and the traffic figure."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET

import pytest

from checker.course import PUZZLES
from checker.puzzle import Case
from checker.view.controls import case_with, film_controls
from checker.view.plots import traffic_plot
from tests.films.traces import solution

PUZZLE, SOURCE = PUZZLES["row_softmax"], solution("row_softmax")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    import IPython.display

    pages: list[str] = []
    monkeypatch.setattr(IPython.display, "display", lambda html: pages.append(html.data))
    return pages


def film(case: Case) -> str:
    return f"<b>film of {case.name}</b>"


def test_a_chosen_size_runs_the_film_again(shown: list[str]) -> None:
    ran: list[Case] = []

    def run(case: Case) -> str:
        ran.append(case)
        return film(case)

    box = film_controls(SOURCE, PUZZLE, run)
    assert shown == [film(PUZZLE.film.case)], "the first film is plain HTML"
    lists = {child.description: child for child in box.children[1].children}
    assert set(lists) == set(PUZZLE.film.choices)
    lists["N"].value = 13
    assert dict(ran[-1].sizes) == {**PUZZLE.film.case.sizes, "N": 13}
    assert "film of M = 4, N = 13, BLOCK_N = 8" in box.children[2].outputs[0]["data"]["text/html"]
    assert not any(child.disabled for child in lists.values())


def test_an_error_is_shown_in_place_of_the_film(shown: list[str]) -> None:
    def run(case: Case) -> str:
        if case.sizes["N"] == 13:
            raise ValueError("a row of 13 does not fit in a tile of <8>")
        return film(case)

    box = film_controls(SOURCE, PUZZLE, run)
    lists = {child.description: child for child in box.children[1].children}
    lists["N"].value = 13
    assert "does not fit in a tile of &lt;8&gt;" in box.children[2].outputs[0]["data"]["text/html"]
    lists["N"].value = 5
    assert "film of" in box.children[2].outputs[0]["data"]["text/html"]


def test_without_widgets_the_film_is_still_there(shown: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert film_controls(SOURCE, PUZZLE, film) is None
    assert shown[0].startswith(film(PUZZLE.film.case))
    assert "install ipywidgets" in shown[0]


def test_a_choice_the_case_does_not_know_is_refused() -> None:
    with pytest.raises(KeyError, match="BLOCK_M"):
        case_with(PUZZLE.film.case, {"BLOCK_M": 4})


def test_traffic_plot_is_a_small_svg_that_says_its_numbers() -> None:
    figure = traffic_plot({"row_softmax": (128_000, 128_000), "online_softmax": (192_000, 256_000)}, title="64 × 250")
    root = ET.fromstring(figure.svg)
    text = " ".join("".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text"))
    assert len(figure._repr_html_()) < 15_000
    assert "128 kB counted, as predicted" in text
    assert "256 kB counted, 1.33 × predicted" in text
    assert "online_softmax: 192 kB predicted, 256 kB counted" in figure.alt


def test_traffic_plot_needs_a_rung() -> None:
    with pytest.raises(ValueError, match="at least one rung"):
        traffic_plot({})
