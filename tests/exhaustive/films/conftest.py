"""The fixtures of `tests/films`."""

from tests.films.conftest import axe, browser_thread, chrome, pytest_pyfunc_call, show  # noqa: F401
