"""The fixtures of the ordinary tests, and one of several parts."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.browser.conftest import browser, lab, notebook, page  # noqa: F401
from tests.classroom.grading.conftest import sandbox  # noqa: F401
from tests.classroom.workshop.conftest import board, start  # noqa: F401
from tests.compiler.conftest import _own_cache  # noqa: F401
from tests.films.conftest import axe, browser_thread, chrome, pytest_pyfunc_call, show  # noqa: F401
from tests.pure_triton.conftest import without_triton  # noqa: F401
from tests.verbs.conftest import solve, space  # noqa: F401


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With PART=2/6, leave every sixth test, from the second on: `make exhaustive` takes hours, and a machine may have one."""
    wanted = os.environ.get("PART", "")
    if not wanted:
        return
    if not re.fullmatch(r"[1-9]\d*/[1-9]\d*", wanted):
        raise pytest.UsageError(f"PART is the number of a part and how many there are, such as 2/6, not {wanted!r}")
    part, parts = map(int, wanted.split("/"))
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    others = [item for number, item in enumerate(here, 1) if (number - part) % parts]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]
