"""Two films in Chromium are side by side if both are legible, and linked films share one time line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from checker.films.page import linked
from tests.films import films

pytestmark = [pytest.mark.browser]
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[films.Shot]:
    """Both loop orders of FlashAttention at one size, as notebook 06 has them."""
    names = ("flash_attention", "flash_attention_v1")
    return [films.solved(name, tmp_path_factory.mktemp(name)) for name in names]


@pytest.fixture(scope="module")
def orders(both: list[films.Shot]) -> str:
    return linked(*(shot.html for shot in both))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "beside"), [(1500, True), (600, False)])
def test_films_are_side_by_side_if_there_is_room(
    show: Open,
    orders: str,
    width: int,
    beside: bool,
    scheme: str,
) -> None:
    page = show(orders, width, color_scheme=scheme)
    first, second = (film.bounding_box() for film in page.locator(".tbt-film").all())
    assert (first["y"] == second["y"]) == beside
    assert (first["x"] == second["x"]) != beside
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for film in page.locator(".tbt-film").all():
        stage, whole = film.locator("svg.stage").bounding_box(), film.bounding_box()
        assert stage["x"] + stage["width"] <= whole["x"] + whole["width"]
        drawn = float(film.locator("svg.stage").evaluate("e => e.viewBox.baseVal.width"))
        assert stage["width"] >= 0.8 * min(drawn, width - 60), "letters of 11 pixels become 9 at most"


def test_linked_films_have_one_play_button_and_one_time_line(show: Open, both: list[films.Shot]) -> None:
    """Both show the same step, the shorter one waits at its end, and keys act on both."""
    page = show(linked(*(shot.html for shot in both)), 964)
    first, second = (film.bounding_box() for film in page.locator(".tbt-film").all())
    assert first["y"] == second["y"], "beside JupyterLab's sidebar too"
    lengths = [len(shot.trace.events) for shot in both]
    clocks = page.locator(".tbt-film .clock")

    def at() -> list[int]:
        return [int(text.split(" / ")[0]) for text in clocks.all_text_contents()]

    assert page.locator("button.play:visible").count() == 1
    assert page.locator(".lane").count() == 2
    page.locator(".together .next").click()
    assert at() == [2, 2]
    page.locator(".tbt-film").first.focus()
    page.keyboard.press("End")
    assert at() == lengths
    assert page.locator(".together .clock").inner_text() == f"{max(lengths)} / {max(lengths)}"
    page.locator(".together .scrub").fill("4")
    assert at() == [5, 5]
    page.select_option(".together .speed", "4")
    page.locator(".together .play").click()
    page.wait_for_function("() => document.querySelectorAll('.tbt-film .clock')[1].textContent.startsWith('8 /')")
    page.locator(".together .play").click()
    assert at()[0] == at()[1]
