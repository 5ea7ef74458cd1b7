"""A learner's folder to work in, and kernels of theirs that passed."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checker import workspace
from checker.submission.marked_region import stub
from checker.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]


def live_kernel(path: Path, kernel: str) -> Any:
    """A ``@triton.jit`` function of a file, as a learner's session has it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, kernel)


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A copy of the course as a learner has it, which is also the working directory."""
    for name in ("notebooks", "puzzles"):
        (tmp_path / name).mkdir()
    shutil.copytree(ROOT / "solutions", tmp_path / "solutions", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (tmp_path / "solutions").glob("*.py"):
        (tmp_path / "puzzles" / path.name).write_text(stub(path.read_text()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(workspace.HOME_VARIABLE, raising=False)
    return Workspace(tmp_path)


Solve = Callable[..., None]


@pytest.fixture
def solve(space: Workspace) -> Solve:
    """Keeps the course's solution, changed where asked, as a kernel of the learner's that passed."""

    def kept(puzzle: str, old: str = "", new: str = "") -> None:
        text = (ROOT / "solutions" / f"{puzzle}.py").read_text()
        assert not old or text.count(old) == 1
        workspace.keep_copy(space.ours / "passed", puzzle, text.replace(old, new) if old else text)

    return kept
