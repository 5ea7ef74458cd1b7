"""A Chromium of its own for the film's tests, driven from a thread of its own.

Playwright's synchronous calls allow one driver per thread, and other rooms keep theirs open for the whole session.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tools.browser import find_axe

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser_thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as thread:
        yield thread


@pytest.fixture(scope="session")
def chrome(browser_thread: ThreadPoolExecutor) -> Iterator[Any]:
    """A running browser; call it only in `browser_thread`, where tests marked ``browser`` run."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no Chromium; in CI the browser tests have to run")
        pytest.skip("there is no Chromium: THE BROWSER TESTS ARE NOT RUN (Debian: sudo apt install chromium)")
    from playwright.sync_api import sync_playwright

    driver = browser_thread.submit(lambda: sync_playwright().start()).result()
    browser = browser_thread.submit(lambda: driver.chromium.launch(executable_path=found, args=OPTIONS)).result()
    yield browser
    browser_thread.submit(browser.close).result()
    browser_thread.submit(driver.stop).result()


@pytest.fixture(scope="session")
def axe() -> str:
    path = find_axe()
    if path is None:
        pytest.skip("there is no axe-core: WHETHER EVERYONE CAN READ CARDS AND FILMS IS NOT TESTED (tools/browser.py)")
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
