"""The site in Chromium, as a visitor sees it; every request to another host is refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.films.films import serious

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[3]
HTML = ROOT / ".site" / "html"
PAGES = (
    "index.html",
    "notebooks/03_online_softmax.html",
    "docs/mutants.html",
    "checker/misconceptions/online_softmax.html",
)
Page = Any  # playwright.sync_api.Page


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the whole site; the first build takes minutes."""
    subprocess.run([sys.executable, "tools/site.py"], cwd=ROOT, check=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(HTML))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def page(request: pytest.FixtureRequest, chrome: Any, browser_thread: ThreadPoolExecutor, site: str) -> Iterator[Page]:
    """A page in the requested colour scheme; requests to other hosts and script errors fail the test."""
    problems: list[str] = []

    def refuse(route: Any) -> None:
        problems.append(f"asks for {route.request.url}")
        route.abort()

    def opened() -> Page:
        context = chrome.new_context(
            viewport={"width": 1400, "height": 900}, color_scheme=getattr(request, "param", "light")
        )
        page = context.new_page()
        page.route(lambda address: not address.startswith((site, "data:")), refuse)
        page.on("pageerror", lambda error: problems.append(str(error)))
        return page

    page = browser_thread.submit(opened).result()
    yield page
    browser_thread.submit(page.context.close).result()
    assert problems == []


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_complete_and_accessible(page: Page, site: str, axe: str, name: str) -> None:
    page.goto(f"{site}/{name}")
    assert page.locator("h1").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert serious(page, axe) == []


def test_a_film_plays_by_itself_and_can_be_paused(page: Page, site: str) -> None:
    page.goto(f"{site}/index.html")
    step = page.locator(".tbt-film .scrub").first
    before = step.input_value()
    moved = "before => document.querySelector('.tbt-film .scrub').value !== before"
    page.wait_for_function(moved, arg=before)
    page.get_by_role("button", name="pause").first.click()
    stopped = step.input_value()
    page.wait_for_timeout(2500)
    assert step.input_value() == stopped
