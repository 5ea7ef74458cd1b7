from __future__ import annotations

import os

import pytest

from checker.course import LADDER
from tests.judge.local_runner import LocalRunner
from tools import judged

KILLS = "test_kills.py"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the kernels whose verdicts are known (see `tools.judged`). Of the others the kernels of a puzzle come together: what
    one verdict learns of the bank the next one need not run again."""
    tests = {item.nodeid: puzzle for item in items if item.path.name == KILLS and (puzzle := _puzzle(item))}
    left_out = tests.keys() - judged.chosen(tests, os.environ.get("JUDGE", ""))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
    items[:] = [item for item in items if item.nodeid not in left_out]
    places = {puzzle.name: i for i, puzzle in enumerate(LADDER)}
    kills = [i for i, item in enumerate(items) if item.path.name == KILLS]
    ordered = sorted((items[i] for i in kills), key=lambda item: places.get(_puzzle(item), -1))
    for i, item in zip(kills, ordered, strict=True):
        items[i] = item


def _puzzle(item: pytest.Item) -> str:
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    named = parameters.get("misconception")
    return str(named.puzzle if named is not None else parameters.get("puzzle", ""))


@pytest.fixture
def runner(tmp_path):
    """Simulates here; compiling is left out."""
    return LocalRunner(tmp_path, compiles=False)


@pytest.fixture
def compiling_runner(tmp_path):
    return LocalRunner(tmp_path)
