"""The first cell of every notebook: it finds the course on a machine, and fetches it in Colab."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import types
from pathlib import Path
from typing import Any, ClassVar

import pytest
from packaging.requirements import Requirement

from checker.verbs.doctor import OLDER_COLAB
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

    def test_leaves_what_colab_has_as_it_is(self) -> None:
        """A newer ipywidgets, for one, has widgets that Colab's page may not know."""
        lines = (ROOT / "tools/colab.txt").read_text().splitlines()
        has = dict(line.split("==") for line in lines if not line.startswith("#"))
        needed = {r.name: r.specifier for r in map(Requirement, self.REQUIREMENTS)}
        assert set(needed) - set(has) == {"torch", "msgspec"}
        assert [name for name in set(needed) & set(has) if has[name] not in needed[name]] == []

    def test_offers_an_older_colab_where_pip_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(subprocess, "run", lambda command, **options: subprocess.CompletedProcess(command, 1))
        with pytest.raises(SystemExit, match=re.escape(OLDER_COLAB)):
            colab.main()


def test_colab_without_an_address_says_what_to_set(
    elsewhere: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cell, commands = in_colab(monkeypatch, tmp_path)
    with pytest.raises(RuntimeError, match="Set ADDRESS in this cell to the repository you opened this notebook from"):
        exec(cell.replace(ADDRESS, ""), {})
    assert commands == []


def test_nothing_clones_an_address_that_is_not_ours() -> None:
    own = sync.address(ROOT)
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        assert f'ADDRESS, COURSE = \\"{own}\\"' in notebook.read_text("utf-8"), notebook.name
    assert "/tile-by-tile" not in (ROOT / "pyproject.toml").read_text()
