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


@pytest.fixture
def handed_in(tmp_path: Path) -> Path:
    """A class of seven: a file, a folder, a broken file, a stub, a stray note, a file without a kernel, a hostile one."""
    folder = tmp_path / "class"
    for name, text in {
        "alice.py": RIGHT,
        "bob/vector_add.py": STUB,
        "bob/attempts/second.py": UNMASKED,
        "carol.py": NO_SYNTAX,
        "dave.py": STUB,
        "erin.py": "print('hello')\n",
        "mallory.py": HOSTILE,
        "notes.txt": "not code",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder
