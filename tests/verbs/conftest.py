"""A learner's folder to work in, and kernels as a learner holds them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from checker.submission.marked_region import stub
from checker.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A copy of the course as a learner has it, which is also the working directory."""
    for name in ("notebooks", "puzzles"):
        (tmp_path / name).mkdir()
    shutil.copytree(ROOT / "solutions", tmp_path / "solutions", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (tmp_path / "solutions").glob("*.py"):
        (tmp_path / "puzzles" / path.name).write_text(stub(path.read_text()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TILE_BY_TILE_HOME", raising=False)
    return Workspace(tmp_path)
