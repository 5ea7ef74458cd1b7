"""The fixtures of `tests/browser`."""

from tests.browser.conftest import browser, lab, notebook, page, pytest_runtest_makereport  # noqa: F401
