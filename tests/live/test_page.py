"""The page with live cells, in Chromium: a reader writes a kernel and gets its card and film, with nothing installed."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from checker.course import PUZZLES
from tests.browser.chromium import OPTIONS, chromium
from tools import site

PYODIDE = Path(os.environ.get("TILE_BY_TILE_PYODIDE", site.PYODIDE))
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not PYODIDE.is_dir(), reason="no Pyodide here: `python tools/pyodide.py` fetches it"),
]
PATIENCE = 150_000  # milliseconds: on a busy machine Python takes long to start
WITHOUT_BFLOAT16 = """
from dataclasses import replace
from checker.course import PUZZLES

def without(puzzle):
    cases = [replace(case, devices=("gpu",)) if case.dtype == "bfloat16" else case for case in puzzle.cases]
    drawn = lambda random: [case for case in puzzle.drawn(random) if case.dtype != "bfloat16"]
    return replace(puzzle, cases=cases, drawn=drawn)

PUZZLES |= {name: without(PUZZLES[name]) for name in ("vector_add", "row_softmax")}
"""
"""For a Pyodide older than 314, which has no ml_dtypes, so that a stand-in without arithmetic takes its place."""


@dataclass
class Cell:
    page: Page
    name: str

    def check(self, text: str) -> None:
        self.page.locator(f"[data-puzzle={self.name}] textarea").fill(text)
        self.page.locator(f"[data-puzzle={self.name}] .check").click()

    def expect(self, frame: str, words: str) -> None:
        inside = self.page.frame_locator(f"[data-puzzle={self.name}] iframe.{frame}").locator("body")
        expect(inside).to_contain_text(words, timeout=PATIENCE)

    def expect_status(self, words: str) -> None:
        expect(self.page.locator(f"[data-puzzle={self.name}] [role=status]")).to_contain_text(words, timeout=PATIENCE)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as the site has it, without Sphinx around it."""
    folder = tmp_path_factory.mktemp("live")
    shutil.copytree(site.CONFIG / "static", folder / "_static")
    films = dict.fromkeys(site.LIVE, '<div class="tbt-film live">the film of the solution</div>')
    cells = site.live_page(films, live=True)
    cells = cells[cells.index("<section") :]
    head = '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="_static/site.css"><body>'
    (folder / "live.html").write_text(f'{head}{cells}<script src="_static/live.js"></script>', "utf-8")
    if not any(PYODIDE.glob("ml_dtypes-0.5*")):
        with (folder / "_static" / "live_start.py").open("a") as start:
            start.write(WITHOUT_BFLOAT16)
    site.write_live_files(folder / "_static" / "live", PYODIDE)
    return folder


@pytest.fixture(scope="module")
def address(built: Path) -> Iterator[str]:
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(built))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/live.html"
        server.shutdown()


@pytest.fixture(scope="module")
def page(address: str) -> Iterator[Page]:
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium(), args=OPTIONS)
        page = browser.new_page()
        page.goto(address)
        yield page
        browser.close()


def solution(name: str) -> str:
    return (site.ROOT / "solutions" / f"{name}.py").read_text("utf-8")


ENDLESS = solution("vector_add").replace(
    "    pid = tl.program_id", "    n = 0\n    while n >= 0:\n        n = n + 1\n    pid = tl.program_id"
)


@pytest.mark.parametrize("name", site.LIVE)
def test_a_right_kernel_passes_and_has_a_film(page: Page, name: str) -> None:
    cell = Cell(page, name)
    cell.check(solution(name))
    cell.expect("card", f"{PUZZLES[name].title} passed")
    cell.expect("card", "no machine code is made")
    cell.expect("film", "Watch it and share it")
    cell.expect_status("Python is ready.")


def test_a_wrong_kernel_gets_its_diagnosis_and_a_film_of_the_failing_case(page: Page) -> None:
    cell = Cell(page, "row_softmax")
    wrong = solution("row_softmax").replace('other=float("-inf")', "other=0.0")
    assert wrong != solution("row_softmax")
    cell.check(wrong)
    cell.expect("card", "masked")
    cell.expect("film", "Watch it fail")


def test_text_that_python_cannot_read_gets_a_sentence(page: Page) -> None:
    cell = Cell(page, "vector_add")
    cell.check("def vector_add_kernel(:")
    cell.expect("card", "Python cannot read this")


def test_a_new_worker_ends_an_endless_loop(page: Page) -> None:
    cell = Cell(page, "vector_add")
    cell.check(ENDLESS)
    cell.expect_status("Stopped: the kernel was still running")
    cell.check(solution("vector_add"))
    cell.expect("card", "Vector addition passed")


def test_without_a_network_a_page_plays_the_films_it_came_with(page: Page) -> None:
    cell = Cell(page, "vector_add")
    cell.check(solution("vector_add"))
    cell.expect("film", "Watch it and share it")
    page.context.set_offline(True)
    cell.check(ENDLESS)
    cell.expect_status("Stopped: the kernel was still running")
    cell.expect_status("Python could not start, so nothing can be checked. There is no network")
    expect(page.locator("[data-puzzle=vector_add]")).to_contain_text("the film of the solution")
    page.context.set_offline(False)
    cell.check(solution("vector_add"))
    cell.expect("card", "Vector addition passed")
