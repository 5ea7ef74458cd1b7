"""A separate Chromium for the tests of films, driven from its own thread.

Playwright's synchronous calls allow one driver per thread, and other tests keep theirs open for the whole session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from checker.films.page import film_document
from tests.browser.chromium import OPTIONS, chromium
from tools.browser import find_axe

Page = Any  # playwright.sync_api.Page


@pytest.fixture(scope="session")
def browser_thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as thread:
        yield thread


@pytest.fixture(scope="session")
def chrome(browser_thread: ThreadPoolExecutor) -> Iterator[Any]:
    """A running browser; call it only in `browser_thread`, where tests marked ``browser`` run."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    driver = browser_thread.submit(lambda: sync_playwright().start()).result()
    browser = browser_thread.submit(lambda: driver.chromium.launch(executable_path=path, args=OPTIONS)).result()
    yield browser
    browser_thread.submit(browser.close).result()
    browser_thread.submit(driver.stop).result()


@pytest.fixture
def show(chrome: Any, browser_thread: ThreadPoolExecutor, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Open HTML in a new page; a console error or an outside request fails the test."""
    errors: list[str] = []
    contexts = []

    def open_page(html: str, width: int = 1100, **options: object) -> Page:
        context = chrome.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on(
            "request",
            lambda request: None if request.url.startswith(("file:", "data:")) else errors.append(request.url),
        )
        path = tmp_path / f"{len(contexts)}.html"
        path.write_text(film_document(html, "test"), "utf-8")
        page.goto(path.as_uri())
        if options.get("java_script_enabled", True):
            page.wait_for_function("![...document.querySelectorAll('.tbt-film:not(.live) .data')].length")
        return page

    yield open_page
    for context in contexts:
        browser_thread.submit(context.close).result()
    assert not errors


@pytest.fixture(scope="session")
def axe() -> str:
    path = find_axe()
    if path is None:
        pytest.skip("there is no axe-core: THE ACCESSIBILITY OF CARDS AND FILMS IS NOT TESTED (tools/browser.py)")
    return path.read_text("utf-8")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run the body of a browser test in the browser's thread."""
    if "browser_thread" not in pyfuncitem.fixturenames:
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    thread: ThreadPoolExecutor = pyfuncitem.funcargs["browser_thread"]
    thread.submit(pyfuncitem.obj, **arguments).result()
    return True
