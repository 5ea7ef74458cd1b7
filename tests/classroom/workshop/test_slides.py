"""Slides show the right parts of a notebook, and a deck works in a room without a network."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from checker.api.command_line import UnavailableHere
from classroom import cli
from classroom.workshop import deck
from classroom.workshop.executed import fill_in
from tests.classroom.workshop.conftest import ROOT
from tools import site

PLAYED = "01_row_softmax"


def test_every_deck_has_slides_notes_a_stub_and_a_film_and_loads_nothing_from_outside() -> None:
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        name, notebook = path.stem, nbformat.read(path, as_version=4)
        ran = nbformat.from_dict(notebook)
        fill_in(ran, ROOT / "solutions")
        slides = deck.deck(name, notebook, ran)
        places = [cell.metadata.slideshow.slide_type for cell in slides.cells]
        assert places.count("slide") >= 6, name
        assert "notes" in places, name
        stubs = {cell.source for cell in notebook.cells if cell.id.startswith("stub-")}
        code = {cell.source for cell in slides.cells if cell.cell_type == "code"}
        assert "" in code < stubs | {""} or code == stubs | {""}, f"{name}: code other than a stub, or a filled-in one"
        shown = [cell for cell in notebook.cells if cell.metadata.slideshow.slide_type in ("slide", "fragment", "-")]
        assert any(re.search(r"\bfilms?\(", cell.source) for cell in shown if cell.cell_type == "code"), name
        assert site.read_page(deck.html(slides)).loaded == [], name


def test_an_unknown_notebook_is_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["slides", "99_nothing", "--to", str(tmp_path)]) == 3
    assert "there is no notebook 99_nothing" in capsys.readouterr().err


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A deck as an instructor makes it: the notebook is run, reveal.js and MathJax are fetched."""
    to = tmp_path_factory.mktemp("slides")
    try:
        deck.write([PLAYED], ROOT, to)
    except UnavailableHere as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"the slides are not tried in a browser: {error}")
    return to


@pytest.fixture
def offline(chrome: Browser, browser_thread: ThreadPoolExecutor, folder: Path) -> Iterator[tuple[Page, list[str]]]:
    """A page that can load only the slides' folder, and a list of its other requests and its errors."""
    requests: list[str] = []

    def only_the_folder(route: Route) -> None:
        if route.request.url.startswith((folder.as_uri(), "data:", "blob:", "about:")):
            route.continue_()
        else:
            requests.append(route.request.url)
            route.abort()

    def opened() -> Page:
        page = chrome.new_context(viewport={"width": 1920, "height": 1080}, offline=True).new_page()
        page.route("**/*", only_the_folder)
        page.on("pageerror", lambda error: requests.append(str(error)))
        page.goto((folder / f"{PLAYED}.html").as_uri())
        page.wait_for_selector("html[data-ready=true]", timeout=60_000)
        return page

    page = browser_thread.submit(opened).result()
    yield page, requests
    browser_thread.submit(page.context.close).result()


@pytest.mark.browser
def test_without_network_every_slide_fits_formulas_are_drawn_and_the_film_plays(
    offline: tuple[Page, list[str]],
) -> None:
    page, requests = offline
    total = page.evaluate("Reveal.getTotalSlides()")
    assert total >= 10
    for number in range(total):
        page.evaluate(f"Reveal.slide({number}, 0, 99)")
        right, bottom = page.evaluate(
            "(s => [s.getBoundingClientRect().right, s.scrollHeight * s.getBoundingClientRect().width / s.offsetWidth])(Reveal.getCurrentSlide())"
        )
        assert right <= 1921, f"slide {number + 1} is cut off on the right"
        assert bottom <= 1081, f"slide {number + 1} is cut off at the bottom"
    assert page.locator("mjx-container svg").count() >= 5
    assert page.locator("mjx-merror").count() == 0
    number = page.evaluate("Reveal.getSlides().findIndex(s => s.querySelector('.tbt-film'))")
    page.evaluate(f"Reveal.slide({number}, 0, 99)")
    film = page.locator(".tbt-film").first
    film.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(film.locator(".clock")).to_have_text(re.compile(r"^3 "))
    assert page.evaluate("Reveal.getIndices().h") == number, "the film keeps the keys to itself"
    film.locator("button.play").click()
    expect(film).to_have_class(re.compile("playing"))
    assert requests == []
