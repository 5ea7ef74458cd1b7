from __future__ import annotations

import pytest

from checker.course import LADDER
from tests.conftest import subject_of
from tests.judge.local_runner import LocalRunner

KILLS = "test_kills.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The kernels of a puzzle together: what one verdict learns of the bank the next one need not run again."""
    places = {puzzle.name: i for i, puzzle in enumerate(LADDER)}
    kills = [i for i, item in enumerate(items) if item.path.name == KILLS]
    ordered = sorted((items[i] for i in kills), key=lambda item: places.get(subject_of(item), -1))
    for i, item in zip(kills, ordered, strict=True):
        items[i] = item


@pytest.fixture
def runner(tmp_path):
    """Simulates here; compiling is left out."""
    return LocalRunner(tmp_path, compiles=False)


@pytest.fixture
def compiling_runner(tmp_path):
    return LocalRunner(tmp_path)
