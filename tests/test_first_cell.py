"""The first cell of every notebook: it finds the course on a machine, and fetches it in Colab."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import types
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tools import colab, sync

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = sync.address(ROOT)
CELL = sync.notebook(ROOT / "notebooks/src/00_start_here.md", ROOT, sync.made(ROOT)).cells[1].source


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the search path as it was, and the course off it."""
    outside = [p for p in sys.path if Path(p or ".").resolve() != ROOT]
    monkeypatch.setattr(sys, "path", outside)


def in_colab(monkeypatch: pytest.MonkeyPatch, content: Path) -> tuple[str, list[list[str]]]:
    """The cell as Colab runs it, with `content` for Colab's folder, and the commands it gives."""
    commands: list[list[str]] = []
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))

    def run(command: list[str], **options: Any) -> None:
        assert options.get("check") is True, "a step that fails must stop the cell"
        commands.append(command)
        if command[0] == "git":
            Path(command[-1]).symlink_to(ROOT)

    monkeypatch.setattr(subprocess, "run", run)
    return CELL.replace("/content/", f"{content}/"), commands


@pytest.mark.parametrize("folder", [".", "notebooks"])
def test_finds_the_course_where_the_notebook_is(folder: str, elsewhere: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / folder)
    names: dict[str, Any] = {}
    exec(CELL, names)
    assert names["COURSE"] == ROOT
    assert {"check", "doctor", "film", "hint", "progress", "reset"} <= set(names)


def test_colab_clones_and_installs(elsewhere: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cell, commands = in_colab(monkeypatch, tmp_path)
    exec(cell, names := {})
    course = tmp_path / "tile-by-tile"
    assert commands == [
        ["git", "clone", "--quiet", "--depth=1", ADDRESS, str(course)],
        [sys.executable, str(course / "tools" / "colab.py")],
    ]
    assert sys.path[0] == str(course)
    assert callable(names["check"])


def test_colab_keeps_a_clone_that_is_there(elsewhere: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tile-by-tile").symlink_to(ROOT)
    cell, commands = in_colab(monkeypatch, tmp_path)
    exec(cell, {})
    assert [command[0] for command in commands] == [sys.executable]


class TestInstallation:
    OWN: ClassVar = {"torch": "2.11.0+cu128", "triton": "3.6.0", "numpy": "2.3.5"}
    REQUIREMENTS: ClassVar = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]

    def test_holds_colabs_own_at_what_they_are(self) -> None:
        arguments = colab.pip_arguments(self.REQUIREMENTS, self.OWN)
        for name, version in self.OWN.items():
            assert [a for a in arguments if colab.name_of(a) == name] == [f"{name}=={version}"]

    def test_asks_for_everything_else(self) -> None:
        arguments = colab.pip_arguments(self.REQUIREMENTS, self.OWN)
        assert {colab.name_of(r) for r in self.REQUIREMENTS} == {colab.name_of(a) for a in arguments[2:]}

    def test_never_fetches_a_triton_of_its_own(self) -> None:
        arguments = colab.pip_arguments(self.REQUIREMENTS, {})
        assert not [a for a in arguments if colab.name_of(a) in colab.COLABS_OWN]

    def test_changes_nothing_where_all_is_there(self) -> None:
        """With this machine's own versions pip has nothing to do, so it is not asked to touch torch."""
        own = colab.present(colab.COLABS_OWN)
        command = [sys.executable, "-m", "pip", *colab.pip_arguments(self.REQUIREMENTS, own), "--dry-run"]
        offline = {**os.environ, "PIP_NO_INDEX": "1"}
        ran = subprocess.run(command, env=offline, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        assert "Would install" not in ran.stdout


def test_the_address_stands_in_one_place() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in listed.split("\0") if name]
    hits = {str(f.relative_to(ROOT)) for f in files if f.is_file() and ADDRESS in f.read_text("utf-8", errors="ignore")}
    assert {name for name in hits if not name.endswith(".ipynb")} == {"pyproject.toml"}
    assert any(name.endswith(".ipynb") for name in hits)
