"""Controls that run a film again."""

from __future__ import annotations

import sys

import pytest

from checker.course import PUZZLES
from checker.puzzle import Case
from checker.view.controls import case_with, film_controls
from tests.view.pages import HOSTILE, Page
from tests.view.verdicts import solution

PUZZLE, SOURCE = PUZZLES["row_softmax"], solution("row_softmax")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    import IPython.display

    pages: list[str] = []
    monkeypatch.setattr(IPython.display, "display", lambda html: pages.append(html.data))
    return pages


def film(case: Case) -> str:
    if case.sizes["N"] == 13:
        raise ValueError(HOSTILE)
    return f"<b>film of {case.name}</b>"


def test_a_chosen_size_runs_the_film_again_and_an_error_takes_its_place(shown: list[str]) -> None:
    box = film_controls(SOURCE, PUZZLE, film)
    assert shown == [film(PUZZLE.film.case)], "the first film is plain HTML"
    lists = {child.description: child for child in box.children[1].children}
    assert set(lists) == set(PUZZLE.film.choices)

    def choose(n: int) -> Page:
        lists["N"].value = n
        assert not any(child.disabled for child in lists.values())
        return Page(box.children[2].outputs[0]["data"]["text/html"])

    assert choose(5).text == "film of M = 4, N = 5, BLOCK_N = 8"
    failed = choose(13)
    assert failed.text == f"No film for M = 4, N = 13, BLOCK_N = 8: {HOSTILE}"
    assert failed.harmless
    assert "film of" in choose(5).text


def test_without_widgets_the_film_is_still_there(shown: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert film_controls(SOURCE, PUZZLE, film) is None
    assert shown[0].startswith(film(PUZZLE.film.case))
    assert "install ipywidgets" in shown[0]


def test_a_choice_the_case_does_not_know_is_refused() -> None:
    with pytest.raises(KeyError, match="BLOCK_M"):
        case_with(PUZZLE.film.case, {"BLOCK_M": 4})
