"""Films in Chromium play, scrub and step, and each step shows the right picture."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checker.view.card import card_html
from tests.films import films
from tests.view import verdicts

pytestmark = pytest.mark.browser

Page = Any  # playwright.sync_api.Page
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def softmax(tmp_path_factory: pytest.TempPathFactory) -> films.Shot:
    """Four programs, each of which loads and stores one row."""
    return films.solved("row_softmax", tmp_path_factory.mktemp("softmax"))


def text(page: Page, selector: str) -> str:
    return str(page.locator(selector).first.inner_text())


def test_stepping_moves_the_tile_the_line_the_state_and_the_bars(show: Open, softmax: films.Shot) -> None:
    page, places = show(softmax.html), set()
    steps = len(softmax.trace.events)
    for k, event in enumerate(softmax.trace.events):
        assert text(page, ".clock") == f"{k + 1} / {steps}"
        assert text(page, ".source .current i") == str(event.line)
        assert text(page, ".kind") == event.kind
        assert f"program {event.program[0]}" in text(page, ".facts")
        assert text(page, "table.state tr").split() == ["program", str(event.program[0])]
        places.add(page.locator(".stage .edge").last.get_attribute("d"))
        page.click(".next")
    assert len(places) == steps
    assert [words.split(";")[0] for words in page.locator(".traffic .words").all_inner_texts()] == [
        "112 B of 112 B"
    ] * 2


def test_play_keys_and_slider(show: Open, softmax: films.Shot) -> None:
    page = show(softmax.html)
    film = page.locator(".tbt-film")
    page.keyboard.press("ArrowRight")
    assert text(page, ".clock") == "2 / 8", "the keys of a page work without a click"
    for key, at in (("ArrowRight", 3), ("ArrowLeft", 2), ("End", 8), ("Home", 1)):
        film.press(key)
        assert text(page, ".clock") == f"{at} / 8"
    for playing in (True, False):
        film.press(" ")
        assert ("playing" in film.get_attribute("class")) == playing
        assert (page.locator(".says").get_attribute("aria-live") == "off") == playing, "nobody could listen that fast"
    page.locator(".scrub").fill("5")
    page.locator(".scrub").press("ArrowRight")
    assert text(page, ".clock") == "7 / 8"
    assert re.search(r"x\[3|y\[2", page.locator(".scrub").get_attribute("aria-valuetext"))
    page.select_option(".speed", "4")
    page.click(".play")
    page.wait_for_function("() => document.querySelector('.clock').textContent === '8 / 8'")
    page.wait_for_function("() => document.querySelector('.play').getAttribute('aria-label') === 'Play'")


def test_the_stage_stays_in_place_and_a_divergence_is_marked(show: Open, tmp_path: Path) -> None:
    shot = films.shoot("online_softmax", films.wrong("online_softmax", "sum_not_rescaled"), tmp_path)
    page, places = show(shot.html), set()
    cells = page.locator(".stage text.side")
    assert [t.split(" → ")[0] for t in cells.all_text_contents()] == ["-∞", "0"]
    assert page.locator(".stage .departs").count() == 0
    page.click(".next")
    assert text(page, ".alarm") == "⚠ " + shot.film.divergences[0].words(True)
    assert page.locator(".stage .departs").count() == 1
    before, after = cells.nth(1).text_content().removeprefix("≠ ").split(" → ")
    state = page.locator("table.state tr", has_text="l_i").locator("td").inner_text()
    assert [float(v) for v in state.split("→")] == [float(before), float(after)]
    page.locator(".finding").click()
    assert text(page, ".clock").startswith("2 /")
    page.click(".next")
    assert cells.nth(1).text_content().removeprefix("≠ ").startswith(after), "the next chunk starts from there"
    page.locator(".tbt-film").press("Home")
    for _ in shot.trace.events:
        places.add(page.locator("svg.stage").bounding_box()["y"])
        page.click(".next")
    assert len(places) == 1, "however long the sentence above it is, and with or without an alarm"
    page.select_option(".who", "1")
    assert page.locator(".marks button").count() == 1


def test_a_click_on_a_lane_shows_address_value_and_mask(show: Open, softmax: films.Shot) -> None:
    page = show(softmax.html)
    x, stage = softmax.film.layout.tensor("x_ptr"), page.locator("svg.stage")
    summary = text(page, ".sub")

    def said(row: int, column: int) -> str:
        left, top, wide, high = x.place((row, row + 1, column, column + 1))
        scale = stage.bounding_box()["width"] / softmax.film.layout.width
        stage.click(position={"x": (left + wide / 2) * scale, "y": (top + high / 2) * scale})
        return text(page, ".sub")

    value = softmax.film.cells["x_ptr"][8]
    assert said(1, 1) == f"x[1, 1] = {value} · x_ptr + 8 · not in this step"
    assert said(0, 7) == "x[0, 7] does not exist · x_ptr + 7 · masked off, so the lane holds -∞"
    assert said(0, 6).endswith("x_ptr + 6 · loaded in this step")
    page.click(".next")
    assert text(page, ".sub") == summary


def test_a_saved_film_plays_on_a_page_of_its_own(show: Open, softmax: films.Shot) -> None:
    page = show(softmax.html)
    page.click(".next")
    with page.expect_download() as download:
        page.click(".save")
    assert download.value.suggested_filename.endswith(".html")
    saved = show(Path(download.value.path()).read_text("utf-8"))
    assert text(saved, ".clock") == "1 / 8", "as it was at first"
    saved.click(".next")
    assert text(saved, ".clock") == "2 / 8"


def test_two_films_on_one_page_do_not_disturb_each_other(show: Open, softmax: films.Shot, tmp_path: Path) -> None:
    empty = show("").evaluate("() => Object.keys(window)")
    page = show(softmax.html + films.solved("vector_add", tmp_path).html)
    page.locator(".tbt-film").nth(1).locator(".next").click()
    assert page.locator(".clock").all_inner_texts() == ["1 / 8", "2 / 9"]
    assert page.evaluate("() => Object.keys(window)") == empty


def test_attention_shows_the_tile_the_staircase_and_the_rescaling(show: Open, tmp_path: Path) -> None:
    shot = films.solved("flash_attention_heads", tmp_path)
    page = show(shot.html)
    skipped = "() => [...document.querySelectorAll('.stage .skipped')].reduce((n, p) => n + p.getAttribute('d').split('M').length - 1, 0)"
    assert page.locator(".stage .guides").count() == 0
    assert page.evaluate(skipped) == 0
    dots = [k for k, event in enumerate(shot.trace.events) if event.kind == "dot" and event.program == (1, 0, 0)]
    page.locator(".scrub").fill(str(dots[2]))  # program 1, second tile of keys: the diagonal one
    assert text(page, ".what") == "s = q[32:64] · k[32:64]ᵀ, on chip"
    assert page.locator(".stage .heat").count() > 40
    assert page.locator(".stage .masked.thin").first.get_attribute("d")
    page.locator(".scrub").fill(str(dots[3]))
    assert text(page, ".what") == "acc of o[32:64]: rescaled, + p · v[32:64]"
    assert page.locator(".stage .bar-now").last.get_attribute("d").count("M") == 32, "a factor for each row"
    assert page.locator(".stage .plus").count() > 20
    page.locator(".tbt-film").press("End")
    assert page.evaluate(skipped) == 2 * 6
    assert page.locator(".stage .masked.thin").count(), "the staircase stays"
    page.select_option(".who", "0")
    page.locator(".tbt-film").press("End")
    assert page.evaluate(skipped) == 2 * 3


def test_themes_follow_the_notebook_before_the_system(show: Open, softmax: films.Shot) -> None:
    def bright(colour: str) -> float:
        return sum(int(part) for part in colour[4:-1].split(","))

    for what, html in (("film", softmax.html), ("card", card_html(verdicts.wrong_values()))):
        page = show(html)
        for system, notebook, light in (
            ("light", "", True),
            ("dark", "", False),
            ("dark", "true", True),
            ("light", "false", False),
        ):
            page.emulate_media(color_scheme=system)
            page.evaluate("(theme) => document.body.setAttribute('data-jp-theme-light', theme)", notebook)
            ink, ground = page.evaluate(
                f"() => {{ const s = getComputedStyle(document.querySelector('.tbt-{what}')); return [s.color, s.backgroundColor]; }}"
            )
            assert (bright(ground) > bright(ink)) == light, (what, system, notebook)


def test_source_breaks_between_words_although_jupyterlab_breaks_anywhere(show: Open, softmax: films.Shot) -> None:
    page = show("<style>.jp-OutputArea-output pre{word-break:break-all}</style>" + softmax.html)
    page.evaluate("() => document.body.classList.add('jp-OutputArea-output')")
    assert page.locator(".source").evaluate("(e) => getComputedStyle(e).wordBreak") == "normal"


def test_without_scripts_nothing_pretends_to_work(show: Open, softmax: films.Shot) -> None:
    page = show(softmax.html, java_script_enabled=False)
    assert not page.locator(".controls").is_visible()
