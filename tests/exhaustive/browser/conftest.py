"""The fixtures of `tests/browser`."""

from tests.browser.conftest import browser, lab, notebook, page  # noqa: F401
