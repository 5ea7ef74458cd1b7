"""The Chromium that the browser tests drive."""

from __future__ import annotations

import os

import pytest

from tools.browser import find_browser

# its own sandbox needs rights that a container does not give
OPTIONS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]


def chromium() -> str:
    """The browser's path. In CI a missing one is a failure; elsewhere the tests are skipped, and the summary says so."""
    path = find_browser()
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no Chromium; in CI the browser tests have to run")
        pytest.skip("there is no Chromium: THE BROWSER TESTS ARE NOT RUN (Debian: sudo apt install chromium)")
    return path
