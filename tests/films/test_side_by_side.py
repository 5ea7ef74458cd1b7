"""Two films in Chromium: beside each other where both are legible, else one below the other; each plays by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from checker.films import side_by_side
from tests.films import films, traces
from tests.films.test_player import show  # noqa: F401 (a fixture)

pytestmark = pytest.mark.browser
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Both loop orders of FlashAttention at one size, as notebook 06 has them."""
    shots = [
        films.shoot(name, traces.solution(name), tmp_path_factory.mktemp(name))
        for name in ("flash_attention", "flash_attention_v1")
    ]
    return side_by_side(*(shot.html for shot in shots))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "beside"), [(1400, True), (1100, True), (950, False), (600, False)])
def test_films_stand_beside_each_other_where_there_is_room(
    show: Open,  # noqa: F811
    orders: str,
    width: int,
    beside: bool,
    scheme: str,
) -> None:
    page = show(orders, width, color_scheme=scheme)
    first, second = (film.bounding_box() for film in page.locator(".tbt-film").all())
    assert (first["y"] == second["y"]) == beside
    assert (first["x"] == second["x"]) != beside
    assert min(first["width"], second["width"]) >= 520
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for film in page.locator(".tbt-film").all():
        stage, whole = film.locator("svg.stage").bounding_box(), film.bounding_box()
        assert stage["x"] + stage["width"] <= whole["x"] + whole["width"]
        drawn = float(film.locator("svg.stage").evaluate("e => e.viewBox.baseVal.width"))
        assert stage["width"] / drawn > 0.7, "the stage's 12-pixel letters stay above 8"


def test_each_film_keeps_its_own_time(show: Open, orders: str) -> None:  # noqa: F811
    page = show(orders, 1400)
    clocks = page.locator(".clock")
    before = clocks.nth(1).inner_text()
    page.locator(".next").nth(0).click()
    page.keyboard.press("ArrowRight")
    assert clocks.nth(0).inner_text().startswith("3 /")
    assert clocks.nth(1).inner_text() == before
    page.locator(".tbt-film").nth(1).focus()
    page.keyboard.press("End")
    done, of = clocks.nth(1).inner_text().split(" / ")
    assert done == of
    assert clocks.nth(0).inner_text().startswith("3 /")
