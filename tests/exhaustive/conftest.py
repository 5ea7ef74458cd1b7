"""The fixtures of the ordinary tests."""

from tests.browser.conftest import browser, lab, notebook, page  # noqa: F401
from tests.classroom.grading.conftest import sandbox  # noqa: F401
from tests.classroom.workshop.conftest import board, start  # noqa: F401
from tests.compiler.conftest import _own_cache  # noqa: F401
from tests.films.conftest import axe, browser_thread, chrome, pytest_pyfunc_call, show  # noqa: F401
from tests.pure_triton.conftest import without_triton  # noqa: F401
from tests.verbs.conftest import solve, space  # noqa: F401
