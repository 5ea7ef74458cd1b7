"""Slides: what of a notebook is on them, and that a deck works in a room without a network."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from playwright.sync_api import Browser, Page, Route, expect

from classroom import cli
from classroom.workshop import NotPossibleHere, deck
from classroom.workshop.executed import fill_in
from tests.classroom.workshop.conftest import ROOT
from tools import site, sync

NOTEBOOKS = {path.stem: nbformat.read(path, as_version=4) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}
PLAYED = "01_row_softmax"


def places(notebook: NotebookNode) -> list[str]:
    return [cell.metadata.slideshow.slide_type for cell in notebook.cells]


def built(name: str) -> NotebookNode:
    """Without outputs: nothing is run."""
    return deck.deck(name, NOTEBOOKS[name], NOTEBOOKS[name])


@pytest.mark.parametrize("name", NOTEBOOKS)
class TestEveryDeck:
    def test_has_slides_and_notes(self, name: str) -> None:
        assert places(built(name)).count("slide") >= 6
        assert "notes" in places(built(name))

    def test_shows_a_kernel_and_its_film(self, name: str) -> None:
        shown = ("slide", "fragment", "-")
        marked = [cell for cell in NOTEBOOKS[name].cells if cell.metadata.slideshow.slide_type in shown]
        code = [cell for cell in marked if cell.cell_type == "code"]
        assert any(cell.id.startswith("stub-") for cell in code)
        assert any(cell.source.startswith("film(") or "films(" in cell.source for cell in code)

    def test_loads_nothing_from_outside(self, name: str) -> None:
        assert site.read_page(deck.html(built(name))).loaded == []

    def test_code_is_the_empty_stub_and_nothing_else(self, name: str) -> None:
        ran = nbformat.from_dict(NOTEBOOKS[name])
        fill_in(ran, ROOT / "solutions")
        stubs = {cell.source for cell in NOTEBOOKS[name].cells if cell.id.startswith("stub-")}
        code = {cell.source for cell in deck.deck(name, NOTEBOOKS[name], ran).cells if cell.cell_type == "code"}
        assert code - {""} <= stubs


def test_a_marker_holds_up_to_the_next(tmp_path: Path) -> None:
    source = tmp_path / "00_start.md"
    source.write_text(
        "# T\n\nfirst\n\n<!-- slide -->\n\n## On it\n\n<!-- notes -->\n\nto say\n\n<!-- fragment -->\n\nlater\n\n"
        "```python\n1 + 1\n```\n\n<!-- skip -->\n\nrest\n"
    )
    cells = sync.notebook(source, tmp_path, {}).cells
    placed = [(cell.source, cell.metadata.slideshow.slide_type) for cell in cells]
    assert placed == [
        ("# T\n\nfirst", "skip"),
        ("## On it", "slide"),
        ("to say", "notes"),
        ("later", "fragment"),
        ("1 + 1", "-"),
        ("rest", "skip"),
    ]


def test_an_unknown_notebook_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["slides", "99_nothing", "--to", str(tmp_path)]) == 3
    assert "there is no notebook 99_nothing" in capsys.readouterr().err


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A deck as an instructor makes it: the notebook is run, reveal.js and MathJax are fetched."""
    to = tmp_path_factory.mktemp("slides")
    try:
        deck.write([PLAYED], ROOT, to)
    except NotPossibleHere as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"THE SLIDES ARE NOT TRIED IN A BROWSER: {error}")
    return to


@pytest.fixture
def offline(chrome: Browser, browser_thread: ThreadPoolExecutor, folder: Path) -> Iterator[tuple[Page, list[str]]]:
    """A page that reaches the folder of the slides and nothing else, and the list of what it asked for besides."""
    asked: list[str] = []

    def only_the_folder(route: Route) -> None:
        if route.request.url.startswith((folder.as_uri(), "data:", "blob:", "about:")):
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    def opened() -> Page:
        page = chrome.new_context(viewport={"width": 1920, "height": 1080}, offline=True).new_page()
        page.route("**/*", only_the_folder)
        page.on("pageerror", lambda error: asked.append(str(error)))
        page.goto((folder / f"{PLAYED}.html").as_uri())
        page.wait_for_selector("html[data-ready=true]", timeout=60_000)
        return page

    page = browser_thread.submit(opened).result()
    yield page, asked
    browser_thread.submit(page.context.close).result()


@pytest.mark.browser
class TestInABrowserWithoutNetwork:
    def test_every_slide_fits_and_nothing_is_asked_for(self, offline: tuple[Page, list[str]]) -> None:
        page, asked = offline
        total = page.evaluate("Reveal.getTotalSlides()")
        assert total >= 10
        for number in range(total):
            page.evaluate(f"Reveal.slide({number}, 0, 99)")
            box = page.evaluate(
                "(s => [s.getBoundingClientRect().right, s.scrollHeight * s.getBoundingClientRect().width / s.offsetWidth])(Reveal.getCurrentSlide())"
            )
            assert box[0] <= 1921, f"slide {number + 1} is cut off at the right"
            assert box[1] <= 1081, f"slide {number + 1} is cut off below"
        assert asked == []

    def test_formulas_are_drawn(self, offline: tuple[Page, list[str]]) -> None:
        page, asked = offline
        assert page.locator("mjx-container svg").count() >= 5
        assert page.locator("mjx-merror").count() == 0
        assert asked == []

    def test_the_film_plays_and_keeps_the_keys_to_itself(self, offline: tuple[Page, list[str]]) -> None:
        page, asked = offline
        number = page.evaluate("Reveal.getSlides().findIndex(s => s.querySelector('.tbt-film'))")
        page.evaluate(f"Reveal.slide({number}, 0, 99)")
        film = page.locator(".tbt-film").first
        film.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        expect(film.locator(".clock")).to_have_text(re.compile(r"^3 "))
        assert page.evaluate("Reveal.getIndices().h") == number
        film.locator("button.play").click()
        expect(film).to_have_class(re.compile("playing"))
        assert asked == []
