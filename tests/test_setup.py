"""The set-up: one lock, read by three ways in; done once, silent afterwards; broken, it says what to do."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tools import browser, quick, setup_venv

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK_LINES = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
LOCK = {canonicalize_name(name): version for name, version in (line.split("==") for line in LOCK_LINES)}
ON_DEMAND = {"ray", "site"}
"""Extras that nobody needs for the course, and that only those install who ask for them: 240 MB each, and Ray opens ports."""
EXTRAS = {name: extra for name, extra in PROJECT["optional-dependencies"].items() if name not in ON_DEMAND}
REQUIREMENTS = [Requirement(text) for texts in (PROJECT["dependencies"], *EXTRAS.values()) for text in texts]


class TestLock:
    def test_is_exact_versions_and_nothing_else(self) -> None:
        odd = [line for line in LOCK_LINES if not re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9A-Za-z.!]*", line)]
        assert odd == [], "no paths, no addresses, no build tags such as +cpu"

    @pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda r: r.name)
    def test_meets_the_project(self, requirement: Requirement) -> None:
        assert LOCK[canonicalize_name(requirement.name)] in requirement.specifier

    def test_holds_the_pair_that_everything_is_tested_with(self) -> None:
        assert (LOCK["torch"], LOCK["triton"]) == ("2.13.0", "3.7.1")

    def test_is_complete_for_what_is_installed(self) -> None:
        """Whatever the project pulls in here is pinned: nothing can move under the course."""
        pending, seen = [canonicalize_name(r.name) for r in REQUIREMENTS], set()
        while pending:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            pending += needed_by(name)
        assert sorted(seen - set(LOCK)) == []


def needed_by(name: str) -> list[str]:
    """What an installed package needs on this machine, without extras; nothing where it is not installed."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        requirements = [Requirement(text) for text in requires(name) or []]
    except PackageNotFoundError:
        return []
    return [canonicalize_name(r.name) for r in requirements if r.marker is None or r.marker.evaluate({"extra": ""})]


class TestConda:
    ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())

    def test_python_is_one_the_project_takes(self) -> None:
        [python] = [d for d in self.ENVIRONMENT["dependencies"] if isinstance(d, str) and d.startswith("python=")]
        assert python.split("=")[1] + ".0" in SpecifierSet(PROJECT["requires-python"])

    def test_pip_installs_the_project_by_the_lock(self) -> None:
        [pip] = [d["pip"] for d in self.ENVIRONMENT["dependencies"] if isinstance(d, dict)]
        assert "-c constraints.txt" in pip
        [project] = [line for line in pip if line.startswith("-e")]
        extras = re.fullmatch(r"-e \.\[([\w,]+)\]", project)
        assert extras
        assert set(extras.group(1).split(",")) == set(EXTRAS)

    def test_nothing_is_installed_past_the_lock(self) -> None:
        names = [d for d in self.ENVIRONMENT["dependencies"] if isinstance(d, str)]
        assert {name.split("=")[0] for name in names} == {"python", "pip"}


class TestCommands:
    MAKEFILE = (ROOT / "Makefile").read_text()

    def test_the_readmes_commands_exist(self) -> None:
        for text in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
            for target in re.findall(r"\bmake ([a-z][a-z-]*)(?=[`\s])", text.read_text()):
                if target != "sure":
                    assert re.search(rf"^{target}:", self.MAKEFILE, re.MULTILINE), f"{text.name}: make {target}"

    def test_help_names_every_command(self) -> None:
        said = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        targets = set(re.findall(r"^([a-z-]+):", self.MAKEFILE, re.MULTILINE)) - {"setup", "browser", "companions"}
        assert targets == set(re.findall(r"^  make ([a-z-]+)", said, re.MULTILINE))

    def test_every_tool_that_is_called_exists(self) -> None:
        for tool in re.findall(r"tools/[\w.-]+", self.MAKEFILE):
            assert (ROOT / tool).is_file(), tool

    def test_ci_ends_with_the_readmes_test_command(self) -> None:
        script = ROOT / ".ci" / "run"
        assert os.access(script, os.X_OK)
        commands = [line for line in script.read_text().splitlines() if line.startswith("make")]
        assert commands[-1] == "make test"
        assert "export CI=true" in script.read_text()
        assert "make test " in (ROOT / "README.md").read_text()


CONFIG = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
HOOKS = {hook["id"]: hook for repo in CONFIG["repos"] for hook in repo["hooks"]}


class TestHabits:
    def test_no_committed_file_names_a_path_of_one_machine(self) -> None:
        hook = HOOKS["machine-paths"]
        files = [ROOT / name for name in quick.git("ls-files", "-z") if not re.search(hook["exclude"], name)]
        texts = {path: path.read_text("utf-8", errors="ignore") for path in files if path.is_file()}
        assert [str(path) for path, text in texts.items() if re.search(hook["entry"], text)] == []

    @pytest.mark.parametrize("path", ["root/x", "home/ada/x", "work/x", "tmp/x", "Users/ada/x"])
    def test_such_a_path_is_noticed(self, path: str) -> None:
        for before in ("", "see ", '"', "`", "("):
            assert re.search(HOOKS["machine-paths"]["entry"], f"{before}/{path}")

    @pytest.mark.parametrize("text", ["at work/play", "https://x.org/home/ada/", "{tmp_path}/tmp/x", "notebooks/tmp/x"])
    def test_other_text_is_left_alone(self, text: str) -> None:
        assert not re.search(HOOKS["machine-paths"]["entry"], text)

    def test_the_code_host_runs_the_same_script_on_the_oldest_python(self) -> None:
        workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
        (job,) = workflow["jobs"].values()
        assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
        (python,) = [s["with"]["python-version"] for s in job["steps"] if "setup-python" in s.get("uses", "")]
        assert f">={python}" == PROJECT["requires-python"]

    def test_issue_forms_are_whole(self) -> None:
        forms = [p for p in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if p.name != "config.yml"]
        assert len(forms) == 3
        for form in (yaml.safe_load(path.read_text()) for path in forms):
            assert form.keys() >= {"name", "description", "body"}
            assert all(field["attributes"]["label"] for field in form["body"])


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A folder with what the set-up reads, and no `.venv`."""
    (tmp_path / "tools").mkdir()
    for name in ("setup_venv.py", "kernel_start.py"):
        shutil.copy(ROOT / "tools" / name, tmp_path / "tools")
    for name in ("constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def set_up(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    command = [sys.executable, str(folder / "tools/setup_venv.py")]
    return subprocess.run(command, env=kept | environment, capture_output=True, text=True, check=False)


class TestSetUp:
    def test_does_nothing_when_it_is_done(self, fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(fresh / ".venv")], check=True)
        monkeypatch.setattr(setup_venv, "ROOT", str(fresh))
        (fresh / ".venv/tile-by-tile.installed").write_text(setup_venv.wanted())
        ran = set_up(fresh)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")

    def test_a_changed_lock_is_installed(self, fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(setup_venv, "ROOT", str(fresh))
        before = setup_venv.wanted()
        with (fresh / "constraints.txt").open("a") as lock:
            lock.write("# a new line\n")
        assert setup_venv.wanted() != before

    def test_without_a_network_it_says_so(self, fresh: Path) -> None:
        nowhere = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1"}
        ran = set_up(fresh, TORCH="cuda", **nowhere)
        assert ran.returncode == 1
        assert "the package index cannot be reached" in ran.stderr
        assert not (fresh / ".venv/tile-by-tile.installed").exists(), "an unfinished set-up must be tried again"

    def test_an_old_python_is_told_what_to_do(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(setup_venv, "version_of", lambda name: (3, 9) if name == "python3" else None)
        with pytest.raises(SystemExit) as stopped:
            setup_venv.find_python()
        assert stopped.value.code == 1
        said = capsys.readouterr().err
        assert "Python 3.9" in said
        assert "apt install" in said
        assert "PYTHON=" in said

    def test_the_first_python_new_enough_is_taken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        versions = {sys.executable: (3, 8), "python3": (3, 10), "python3.12": (3, 12), "python3.11": (3, 11)}
        monkeypatch.setattr(setup_venv, "version_of", versions.get)
        assert setup_venv.find_python() == ("python3.12", (3, 12))

    def test_a_python_without_venv_is_told_what_to_do(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        debian = tmp_path / "python3"
        debian.write_text("#!/bin/sh\necho 'ensurepip is not available'\nexit 1\n")
        debian.chmod(0o755)
        monkeypatch.setattr(setup_venv, "VENV", str(tmp_path / ".venv"))
        monkeypatch.setattr(setup_venv, "find_python", lambda: (str(debian), (3, 12)))
        with pytest.raises(SystemExit):
            setup_venv.make_venv()
        said = capsys.readouterr().err
        assert "sudo apt install python3.12-venv" in said
        assert "ensurepip is not available" in said

    @pytest.mark.parametrize(
        ("pip_said", "explanation"),
        [
            ("ERROR: Could not install: [Errno 28] No space left on device", "The disk is full"),
            ("Temporary failure in name resolution", "cannot be reached"),
            ("ProxyError('Cannot connect to proxy.'", "cannot be reached"),
            ("error: subprocess-exited-with-error", "remove the folder .venv"),
        ],
        ids=["disk", "name", "proxy", "other"],
    )
    def test_a_failed_installation_is_explained(self, pip_said: str, explanation: str) -> None:
        assert explanation in setup_venv.explain(pip_said)

    def test_starts_on_an_old_python(self) -> None:
        ast.parse((ROOT / "tools/setup_venv.py").read_text(), feature_version=(3, 6))

    @pytest.mark.parametrize(
        ("build", "driver", "online", "cpu_index"),
        [
            ("auto", False, True, True),
            ("auto", False, False, False),
            ("auto", True, True, False),
            ("cpu", True, False, True),
            ("cuda", False, True, False),
        ],
    )
    def test_torchs_build(
        self, monkeypatch: pytest.MonkeyPatch, build: str, driver: bool, online: bool, cpu_index: bool
    ) -> None:
        monkeypatch.setattr(setup_venv, "has_nvidia_driver", lambda: driver)
        monkeypatch.setattr(setup_venv, "reachable", lambda host: online)
        assert bool(setup_venv.index_options(build)) is cpu_index

    def test_an_unknown_build_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            setup_venv.index_options("rocm")
        assert "auto, cpu or cuda" in capsys.readouterr().err


class TestBrowser:
    @pytest.fixture(autouse=True)
    def _nothing_here(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for found in ("find_browser", "find_axe"):
            monkeypatch.setattr(browser, found, lambda: None)
        monkeypatch.setattr(browser, "_install", lambda package: None)
        monkeypatch.setattr(browser, "install_axe", lambda: None)

    def test_a_missing_one_is_said_loudly(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.delenv("CI", raising=False)
        assert browser.main() == 0
        said = capsys.readouterr().err
        assert "THE BROWSER TESTS WILL NOT BE RUN" in said
        assert "there is no axe-core here" in said

    def test_a_missing_one_fails_in_ci(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CI", "true")
        assert browser.main() == 1


def test_a_browser_that_does_not_start_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("TILE_BROWSER", str(broken))
    assert browser.find_browser() is None
