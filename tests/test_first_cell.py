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
ADDRESS = "https://github.com/somebody/tile-by-tile"
SOURCE = (ROOT / "notebooks/src/first_cell.py").read_text()
CELL = SOURCE.replace("{{address}}", ADDRESS)


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


def test_colab_without_an_address_says_what_to_set(
    elsewhere: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cell, commands = in_colab(monkeypatch, tmp_path)
    with pytest.raises(RuntimeError, match="Set ADDRESS in this cell to the repository you opened this notebook from"):
        exec(cell.replace(ADDRESS, ""), {})
    assert commands == []


class TestAddress:
    @pytest.fixture
    def course(self, tmp_path: Path) -> Path:
        """A tiny course in a git repository of its own, without an address."""
        (tmp_path / "notebooks/src").mkdir(parents=True)
        (tmp_path / "notebooks/src/first_cell.py").write_text(SOURCE)
        (tmp_path / "notebooks/src/00_start_here.md").write_text("# Start\n\n```python\n{{first_cell}}\n```\n")
        for folder in ("solutions", "tools"):
            (tmp_path / folder).mkdir()
        (tmp_path / "solutions/vector_add.py").write_text((ROOT / "solutions/vector_add.py").read_text())
        subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
        return tmp_path

    def clones(self, course: Path, *arguments: str, status: int = 0) -> str:
        """What the first cell clones after a sync."""
        assert sync.main(["--root", str(course), *arguments]) == status
        notebook = sync.notebook(course / "notebooks/src/00_start_here.md", course, {})
        (first,) = (cell for cell in notebook.cells if cell.id == "first_cell")
        return first.source.split('ADDRESS, COURSE = "')[1].split('"')[0]

    def origin(self, course: Path, url: str) -> None:
        subprocess.run(["git", "-C", str(course), "remote", "add", "origin", url], check=True)

    def test_none_is_made_up(self, course: Path) -> None:
        assert self.clones(course) == ""
        assert sync.main(["--root", str(course), "--check"]) == 0

    def test_the_one_that_is_given_stays(self, course: Path) -> None:
        assert self.clones(course, "--repository", f"{ADDRESS}.git") == ADDRESS
        self.origin(course, "https://github.com/a-fork/tile-by-tile.git")
        assert self.clones(course) == ADDRESS, "a fork makes the same notebooks"

    @pytest.mark.parametrize(
        ("url", "taken"),
        [
            ("https://github.com/somebody/tile-by-tile.git", ADDRESS),
            ("https://token@github.com/somebody/tile-by-tile", ""),
            ("git@github.com:somebody/tile-by-tile.git", ""),
            ("/srv/git/tile-by-tile.git", ""),
            ("http://10.0.0.7/tile-by-tile", ""),
        ],
        ids=["code host", "with a token", "ssh", "path", "machine"],
    )
    def test_of_origins_only_a_public_one_counts(self, course: Path, url: str, taken: str) -> None:
        self.origin(course, url)
        assert self.clones(course) == taken

    def test_what_cannot_be_cloned_is_refused(self, course: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.clones(course, "--repository", "git@github.com:me/course", status=1) == ""
        assert "has to begin with https://" in capsys.readouterr().err


def test_nothing_clones_an_address_that_is_not_ours() -> None:
    own = sync.address(ROOT)
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        assert f'ADDRESS, COURSE = \\"{own}\\"' in notebook.read_text("utf-8"), notebook.name
    assert "/tile-by-tile" not in (ROOT / "pyproject.toml").read_text()
