"""Sees to it that there is a JupyterHub for the test of the board as its service, and says loudly when there is none.

JupyterHub comes from pip into an environment of its own, .venv/hub, because a hub is no part of what a learner has; its proxy comes from
npm into .venv/node. Without them the test is left out, which is said here, as it is for axe-core.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

HUB = "jupyterhub==6.1.1"
PROXY = "configurable-http-proxy@5"
HOME = Path(os.environ.get("TILE_HUB") or Path(__file__).resolve().parents[1] / ".venv")
"""Holds hub/ and node/; TILE_HUB names another folder."""
MISSING = f"""
*** THE BOARD WILL NOT BE TESTED AS A SERVICE OF A JUPYTERHUB: there is none here, and it could not be fetched. ***

  python3 -m venv .venv/hub && .venv/hub/bin/pip install {HUB}
  npm install --prefix .venv/node {PROXY}
"""


@dataclass(frozen=True)
class Hub:
    """The commands of a hub and of its proxy."""

    hub: Path
    proxy: Path


def find_hub() -> Hub | None:
    """What `install` made, or None."""
    found = Hub(
        HOME / "hub" / "bin" / "jupyterhub",
        HOME / "node" / "node_modules" / ".bin" / "configurable-http-proxy",
    )
    return found if found.hub.is_file() and found.proxy.is_file() and shutil.which("node") else None


def install() -> None:
    """Ask pip and npm."""
    print("Fetching a JupyterHub for the test of the board.", flush=True)
    home = HOME / "hub"
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "-q", HUB]
    if not (home / "bin" / "jupyterhub").is_file():
        venv.create(home, with_pip=True)
        subprocess.run(pip, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False, timeout=600)
    if npm := shutil.which("npm"):
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(HOME / "node"), PROXY]
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False, timeout=300)


def main() -> int:
    if find_hub() is None:
        install()
    if find_hub() is None:
        print(MISSING, file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
