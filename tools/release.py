"""Builds a release and checks it as a stranger would install it: `make release`. Publishes nothing; docs/releasing.md says what does.

python tools/release.py            dist/: the sdist and the wheel, checked
python tools/release.py --tag      and then the tag of CHANGELOG.md's newest version, which is not pushed
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
CHECKED = "vector_add.py"
TOOLS = ("build>=1.2", "twine>=6", "setuptools>=77")


class NotReady(Exception):
    """The release cannot be made; the message says why and what to do."""


def version() -> str:
    """The version in pyproject.toml, which has to be the newest in CHANGELOG.md. Raises NotReady."""
    stated: str = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    newest = re.search(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    if newest is None or newest.group(1) != stated:
        has = newest.group(1) if newest else "no version"
        raise NotReady(f"pyproject.toml says {stated}, and CHANGELOG.md begins with {has}: make them agree")
    return stated


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """What a command prints. Raises NotReady with the end of it if it fails."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotReady(f"{' '.join(map(str, command))} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


def environment(folder: Path) -> Path:
    """The Python of a new, empty environment."""
    run(sys.executable, "-m", "venv", folder)
    return folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def build(folder: Path) -> Path:
    """The sdist and the wheel in dist/, which twine finds in order. Returns the wheel."""
    python = environment(folder / "tools")
    run(python, "-m", "pip", "install", "--quiet", *TOOLS)
    shutil.rmtree(DIST, ignore_errors=True)
    run(python, "-m", "build", "--outdir", DIST)
    run(python, "-m", "twine", "check", "--strict", *DIST.iterdir())
    (wheel,) = DIST.glob("*.whl")
    return wheel


def check(wheel: Path, folder: Path) -> None:
    """Install the wheel into an empty environment, away from this checkout; judge a solution with Triton, and without it."""
    python, home = environment(folder / "fresh"), folder / "home"
    home.mkdir()
    run(python, "-m", "pip", "install", "--quiet", wheel)
    solutions = run(python, "-c", "from checker.workspace import COURSE; print(COURSE / 'solutions')", cwd=home)
    for without in (False, True):
        if without:
            run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "triton")
        card = run(python, "-m", "checker", "check", Path(solutions.strip()) / CHECKED, cwd=home)
        if " passed" not in card:
            raise NotReady(f"the solution {CHECKED} does not pass {'without' if without else 'with'} Triton:\n{card}")
        print(f"checked {CHECKED} {'without' if without else 'with'} Triton's wheel", flush=True)


def tag(name: str) -> None:
    """Tag the commit, if nothing is uncommitted and CHANGELOG.md has a date. Raises NotReady."""
    if not re.search(
        rf"^## {re.escape(name[1:])} - \d{{4}}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    ):
        raise NotReady(f"CHANGELOG.md has no date for {name[1:]}: put it there and commit, then tag")
    if run("git", "status", "--porcelain"):
        raise NotReady("there are uncommitted changes: commit them, then tag")
    run("git", "tag", "--annotate", name, "--message", f"Tile by Tile {name}")
    print(f"tagged {name}; `git push origin {name}` publishes it")


def main(arguments: Sequence[str]) -> int:
    try:
        name = f"v{version()}"
        with tempfile.TemporaryDirectory() as made:
            check(build(Path(made)), Path(made))
        print(f"{name} is in {DIST.relative_to(ROOT)}/")
        if "--tag" in arguments:
            tag(name)
    except NotReady as reason:
        print(f"Not ready: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
