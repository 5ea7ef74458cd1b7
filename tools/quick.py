"""The checks worth running before every commit, in about a minute on two cores: `make quick`.

On one core the tests of the rooms that changed, then those of the rooms that import them; on the other one ruff and mypy, then a
sample of the wrong kernels, another one every day. "Changed" is what is uncommitted, else what differs from `main`, else the last
commit. When the time is over, what has not been run is counted and left to `.ci/run`.

The module is also the pytest plugin that watches the clock (``QUICK_UNTIL``) and draws the sample (``QUICK_SAMPLE``).
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.test_layering import FILES, RANK, imported, room_of  # noqa: E402

SECONDS = 45
"""After which no further test is begun."""
SAMPLE = 8
LEAST = 8
"""Tests that are run however slow the machine is."""
BEGUN, LEFT_OUT = pytest.StashKey[int](), pytest.StashKey[int]()
TESTS_OF = {
    "puzzles": ("tests/test_sync.py",),
    "solutions": ("tests/test_sync.py", "tests/test_contributing.py"),
    "notebooks": (
        "tests/test_sync.py",
        "tests/test_first_cell.py",
        "tests/notebooks/test_text.py",
        "tests/classroom/workshop/test_agenda.py",
    ),
    "docs": ("tests/notebooks/test_text.py", "tests/classroom/workshop/test_docs.py"),
    ".github": ("tests/test_setup.py",),
    "tools": (
        "tests/test_setup.py",
        "tests/test_sync.py",
        "tests/test_mutations.py",
        "tests/test_guarded.py",
        "tests/test_language_page.py",
        "tests/test_gpu_report.py",
    ),
}
"""The tests of a folder outside `checker/`; those of a file beside them are test_setup's."""
ELSEWHERE = {"cli": ["tests/test_cli.py"], "checker": ["tests/test_cli.py"], "checking": ["tests/test_cli.py"]}
"""The tests of rooms that have no folder of their own in `tests/`."""
KILLS = "tests/misconceptions/test_kills.py"
NOT_NOW = ("tests/browser/", "tests/notebooks/test_execution.py", "_browser.py", KILLS)
"""Minutes long, or sampled."""


def git(*arguments: str) -> list[str]:
    ran = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in ran.stdout.split("\0") if name]


def changed_files() -> list[str]:
    """Uncommitted and new files; where there are none, those that differ from `main`, or those of the last commit."""
    uncommitted = git("diff", "--name-only", "-z", "HEAD") + git("ls-files", "--others", "--exclude-standard", "-z")
    if uncommitted:
        return uncommitted
    for base in ("main...HEAD", "HEAD~1...HEAD"):
        try:
            if names := git("diff", "--name-only", "-z", base):
                return names
        except subprocess.CalledProcessError:  # no such branch, or a history of one commit
            continue
    return []


def rooms_importing(touched: Iterable[str]) -> list[str]:
    """The rooms touched and then those that import one of them, each in the order of the layers."""
    touched, last = set(touched), max(RANK.values()) + 1
    importers = {room_of(path) for path in FILES if any(room in touched for room, _ in imported(path))} - touched
    return [room for some in (touched, importers) for room in sorted(some, key=lambda r: (RANK.get(r, last), r))]


def tests_for(files: Sequence[str]) -> list[str]:
    """Test files, nearest to the change first."""
    wanted = [name for name in files if name.startswith("tests/") and Path(name).name.startswith("test_")]
    rooms = [room_of(ROOT / name) for name in files if name.startswith("checker/") and name.endswith((".py", ".md"))]
    rooms += [Path(name).parts[1] for name in files if name.startswith("tests/") and len(Path(name).parts) > 2]
    wanted += [test for room in rooms_importing(rooms) for test in tests_of_room(room)]
    folders = {Path(name).parts[0] for name in files if "/" in name} - {"checker", "tests"}
    wanted += [test for folder in sorted(folders) for test in TESTS_OF.get(folder, ())]
    if any("/" not in name for name in files):
        wanted.append("tests/test_setup.py")
    wanted.append("tests/test_layering.py")
    there = [test for test in dict.fromkeys(wanted) if (ROOT / test).exists()]
    return [test for test in there if not any(part in test for part in NOT_NOW)]


def tests_of_room(room: str) -> list[str]:
    folder = ROOT / "tests" / room
    return sorted(str(path.relative_to(ROOT)) for path in folder.rglob("test_*.py")) or ELSEWHERE.get(room, [])


def puzzles_of(files: Sequence[str]) -> str:
    """The names of the files of puzzles among these, from which the sample is drawn first."""
    folders = ("solutions/", "checker/course/", "checker/misconceptions/")
    parts = {part for name in files if name.startswith(folders) for part in Path(name).with_suffix("").parts[1:]}
    return " ".join(sorted(parts))


# ---------------------------------------------------------------------------------------------------------- the plugin


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    size = int(os.environ.get("QUICK_SAMPLE", 0))
    if not size:
        return
    random.Random(int(time.time()) // 86_400).shuffle(items)
    near = os.environ["QUICK_PUZZLES"].split()
    items.sort(key=lambda item: not any(name in item.name for name in near))
    config.hook.pytest_deselected(items=items[size:])
    del items[size:]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    stash = item.config.stash
    begun = stash.get(BEGUN, 0)
    if begun < LEAST or time.time() < float(os.environ.get("QUICK_UNTIL", "inf")):
        stash[BEGUN] = begun + 1
        return None
    stash[LEFT_OUT] = stash.get(LEFT_OUT, 0) + 1
    return True  # as if it had been run


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if left := config.stash.get(LEFT_OUT, 0):
        terminalreporter.line(f"quick: the minute is over, {left} tests are left to .ci/run", yellow=True)


# --------------------------------------------------------------------------------------------------------------- main


def run_of(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-p", "tools.quick", "-q", "-n", "0", *arguments]


def main() -> int:
    files = changed_files()
    if not files:
        print("quick: nothing changed")
        return 0
    environment = os.environ | {"QUICK_UNTIL": str(time.time() + SECONDS)}
    tests = tests_for(files)
    print("quick:", *tests, sep="\n  ", flush=True)
    with subprocess.Popen(run_of(*tests), cwd=ROOT, env=environment) as rooms:
        python = [name for name in files if name.endswith(".py") and (ROOT / name).exists()]
        ruff = [sys.executable, "-m", "ruff"]
        commands = [[*ruff, "format", "--check", *python], [*ruff, "check", "--quiet", *python]] if python else []
        if any(name.startswith(("checker/", "tools/")) for name in python):
            commands.append([sys.executable, "-m", "mypy", "--no-error-summary"])
        commands.append(run_of(KILLS))
        sampled = environment | {"JUDGE": "all", "QUICK_SAMPLE": str(SAMPLE), "QUICK_PUZZLES": puzzles_of(files)}
        fine = [subprocess.run(command, cwd=ROOT, env=sampled, check=False).returncode == 0 for command in commands]
    return 0 if rooms.returncode == 0 and all(fine) else 1


if __name__ == "__main__":
    raise SystemExit(main())
