"""Submissions as they come in: right, wrong, broken, hostile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checker.sandbox import Sandbox
from checker.submission.marked_region import stub

ROOT = Path(__file__).resolve().parents[3]


def solution(puzzle: str) -> str:
    return (ROOT / "solutions" / f"{puzzle}.py").read_text()


RIGHT = solution("vector_add")
STUB = stub(RIGHT)
UNMASKED = RIGHT.replace(", mask=mask)\n    # your", ")\n    # your")
NO_SYNTAX = RIGHT.replace("def vector_add_kernel(", "def vector_add_kernel((")
HOSTILE = RIGHT.replace("# your code starts here (about", "import os\n    # your code starts here (about")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made
