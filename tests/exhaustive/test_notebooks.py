"""Every notebook runs from top to bottom, as shipped and with its solutions."""

from __future__ import annotations

import pytest

from tests.notebooks.test_execution import NOTEBOOKS, _learner, run_as_shipped, run_with_solutions

__all__ = ["_learner"]
pytestmark = pytest.mark.parametrize("notebook", NOTEBOOKS)


def test_as_shipped(notebook: str) -> None:
    run_as_shipped(notebook)


def test_with_solutions(notebook: str) -> None:
    run_with_solutions(notebook)
