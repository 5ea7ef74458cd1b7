"""Controls that run a film again."""

from __future__ import annotations

import sys

import pytest

from checker.course import PUZZLES
from checker.puzzle import Case
from checker.view.controls import film_controls
from tests.judge.helpers import solution
from tests.view.pages import HOSTILE, Page

PUZZLE, SOURCE = PUZZLES["row_softmax"], solution("row_softmax")


def film(case: Case) -> str:
    if case.sizes["N"] == 13:
        raise ValueError(HOSTILE)
    return f"<b>film of {case.name}</b>"


def test_a_chosen_size_takes_the_place_of_the_film_and_so_does_an_error() -> None:
    area: list[str] = []
    box = film_controls(SOURCE, PUZZLE, film, area.append)
    lists = {child.description: child for child in box.children[1].children}
    assert set(lists) == set(PUZZLE.film.choices)
    assert not area, "the first film stands there already"

    def choose(n: int) -> Page:
        lists["N"].value = n
        assert not any(child.disabled for child in lists.values())
        return Page(area[-1])

    assert choose(5).text == "film of M = 4, N = 5, BLOCK_N = 8, float32"
    failed = choose(13)
    assert failed.text == f"No film for M = 4, N = 13, BLOCK_N = 8, float32: {HOSTILE}"
    assert failed.harmless
    assert "film of" in choose(5).text
    assert len(area) == 3


def test_without_widgets_it_says_how_to_get_other_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    import IPython.display

    pages: list[str] = []
    monkeypatch.setattr(IPython.display, "display", lambda html: pages.append(html.data))
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert film_controls(SOURCE, PUZZLE, film, pages.append) is None
    assert len(pages) == 1
    assert "install ipywidgets" in pages[0]
