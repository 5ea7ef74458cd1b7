"""Fetches the programs that the course is tested beside, each into an environment of its own below .venv.

A JupyterHub with its proxy for the board, and nbgrader for what it reads and writes. Neither is part of what a learner has. What cannot be fetched is said here, loudly, and its test is skipped.

    python tools/companions.py [hub nbgrader]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HOME = Path(os.environ.get("TILE_COMPANIONS") or Path(__file__).resolve().parents[1] / ".venv")
"""Holds a folder for each, and node/ for what comes from npm."""
PROXY = "configurable-http-proxy@5"


@dataclass(frozen=True)
class Companion:
    """`package` as pip takes it; `beside` the course's packages, or without them."""

    package: str
    tested: str
    beside: bool = True


COMPANIONS = {
    "hub": Companion("jupyterhub==6.1.1", "the board as a service of a JupyterHub", beside=False),
    "nbgrader": Companion("nbgrader==0.9.6", "a course in nbgrader"),
}


@dataclass(frozen=True)
class Hub:
    """The commands of a hub and of its proxy."""

    hub: Path
    proxy: Path


def python_of(name: str) -> Path | None:
    """The Python of a companion's environment, or None where it is not whole."""
    python = HOME / name / "bin" / "python"
    return python if python.is_file() and _stamp(name).is_file() else None


def find_hub() -> Hub | None:
    """The hub and its proxy, or None."""
    hub = HOME / "hub" / "bin" / "jupyterhub"
    proxy = HOME / "node" / "node_modules" / ".bin" / "configurable-http-proxy"
    return Hub(hub, proxy) if python_of("hub") and proxy.is_file() and shutil.which("node") else None


def install(name: str) -> Path | None:
    """Ask pip, and npm for the hub's proxy. Gives what `python_of` gives."""
    if name == "hub" and find_hub() is None and (npm := shutil.which("npm")):
        _quietly([npm, "install", "--no-audit", "--no-fund", "--prefix", str(HOME / "node"), PROXY])
    if python_of(name) is None:
        companion, home = COMPANIONS[name], HOME / name
        venv.create(home, clear=True)
        if companion.beside:
            packages = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
            (packages / "of-the-course.pth").write_text(str(Path(sysconfig.get_path("purelib")).resolve()))
        pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python")]
        if _quietly([*pip, "install", "-q", "--no-compile", companion.package]):  # little of it is ever imported
            _stamp(name).write_text(companion.package)
    return python_of(name)


def _missing(name: str) -> bool:
    return (find_hub() if name == "hub" else python_of(name)) is None


def _stamp(name: str) -> Path:
    return HOME / name / f"{COMPANIONS[name].package}.installed"


def _quietly(command: Sequence[str]) -> bool:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False, timeout=600)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(COMPANIONS)}; all of them without a name")
    names = parser.parse_args(arguments).names or [*COMPANIONS]
    if unknown := [name for name in names if name not in COMPANIONS]:
        parser.error(f"no companion is called {', '.join(unknown)}; there are {', '.join(COMPANIONS)}")
    wanted = [name for name in names if _missing(name)]
    if wanted:
        print(f"Fetching what the course is tested beside: {', '.join(wanted)}.", flush=True)
    with ThreadPoolExecutor() as pool:
        list(pool.map(install, wanted))
    for name in wanted:
        if _missing(name):
            message = f"*** NOT TESTED: {COMPANIONS[name].tested}. {COMPANIONS[name].package} could not be fetched. ***"
            print(f"\n{message}\n", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
