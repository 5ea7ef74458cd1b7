"""Setting up: one lock read by pip, conda and Colab; silent once it is done; helpful when it fails."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tools import setup_venv

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK_LINES = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
LOCK = {canonicalize_name(name): version for name, version in (line.split("==") for line in LOCK_LINES)}
OPTIONAL = {"site"}
"""Extras outside the lock, which the course does not need."""
EXTRAS = {name: extra for name, extra in PROJECT["optional-dependencies"].items() if name not in OPTIONAL}
REQUIREMENTS = [Requirement(text) for texts in (PROJECT["dependencies"], *EXTRAS.values()) for text in texts]


def dependencies(name: str) -> list[str]:
    """The packages that an installed package needs on this machine, without extras."""
    try:
        requirements = [Requirement(text) for text in requires(name) or []]
    except PackageNotFoundError:
        return []
    return [canonicalize_name(r.name) for r in requirements if r.marker is None or r.marker.evaluate({"extra": ""})]


def test_the_lock_pins_every_package_that_the_project_pulls_in() -> None:
    pending, seen = [canonicalize_name(r.name) for r in REQUIREMENTS], set()
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending += dependencies(name)
    assert sorted(seen - set(LOCK)) == []
    for requirement in REQUIREMENTS:
        assert LOCK[canonicalize_name(requirement.name)] in requirement.specifier, requirement.name


def test_conda_installs_the_project_by_the_lock() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    plain = dict(
        entry.split("=", 1) for entry in environment["dependencies"] if isinstance(entry, str) and "=" in entry
    )
    assert plain["python"] + ".0" in SpecifierSet(PROJECT["requires-python"])
    [pip] = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    assert "-c constraints.txt" in pip
    [extras] = [match.group(1) for line in pip if (match := re.fullmatch(r"-e \.\[([\w,]+)\]", line))]
    assert set(extras.split(",")) == set(EXTRAS)


def test_the_documented_make_commands_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        assert set(re.findall(r"`make ([a-z][a-z-]*)", page.read_text())) <= targets, page.name


def test_no_committed_file_names_a_path_of_one_machine() -> None:
    hooks = [
        hook
        for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
        for hook in repo["hooks"]
    ]
    (hook,) = [hook for hook in hooks if hook["id"] == "machine-paths"]
    for path in ("root/x", "home/ada/x", "Users/ada/x"):
        assert re.search(hook["entry"], f"see /{path}")
    assert not re.search(hook["entry"], "https://x.org/home/ada/")
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    paths = [ROOT / name for name in files if name and not re.search(hook["exclude"], name)]
    texts = {path: path.read_text("utf-8", errors="ignore") for path in paths if path.is_file()}
    assert [str(path) for path, text in texts.items() if re.search(hook["entry"], text)] == []


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that setting up reads, and no `.venv`."""
    (tmp_path / "tools").mkdir()
    for name in ("tools/setup_venv.py", "tools/kernel_start.py", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(setup_venv, "ROOT", str(tmp_path))
    return tmp_path


def set_up(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    command = [sys.executable, str(folder / "tools/setup_venv.py")]
    return subprocess.run(command, env=inherited | environment, capture_output=True, text=True, check=False)


def test_setting_up_again_does_nothing_until_the_lock_changes(fresh: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(fresh / ".venv")], check=True)
    (fresh / ".venv/tile-by-tile.installed").write_text(before := setup_venv.wanted())
    run = set_up(fresh)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    with (fresh / "constraints.txt").open("a") as lock:
        lock.write("# a new line\n")
    assert setup_venv.wanted() != before


def test_a_venv_that_is_linked_from_another_folder_is_left_as_it_is(
    fresh: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other") / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(other)], check=True)
    (other / "tile-by-tile.installed").write_text(setup_venv.wanted())
    before = sorted(other.rglob("*"))
    (fresh / ".venv").symlink_to(other)
    run = set_up(fresh)
    assert run.returncode == 1
    for part in (str(other), "rm .venv", "nothing was changed"):
        assert part in run.stderr
    assert sorted(other.rglob("*")) == before


def test_it_starts_on_an_old_python_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ast.parse((ROOT / "tools/setup_venv.py").read_text(), feature_version=(3, 6))
    monkeypatch.setattr(setup_venv, "version_of", lambda name: (3, 9) if name == "python3" else None)
    with pytest.raises(SystemExit):
        setup_venv.find_python()
    message = capsys.readouterr().err
    for part in ("Python 3.9", "apt install", "PYTHON="):
        assert part in message
