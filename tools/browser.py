"""Sees to it that there are a browser and axe-core for the tests, and says loudly when one of them is missing.

Looks for Chromium or Chrome on the PATH, then for the one that Playwright may have fetched; installs Debian's chromium
where it may (as root, or with a sudo that asks for nothing). axe-core, which looks for what keeps people from reading a page,
comes from npm into .venv. In CI a missing browser is a failure; without axe-core its tests are left out, which is said here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

MISSING = """
*** THE BROWSER TESTS WILL NOT BE RUN: there is no Chromium here, and it could not be installed. ***

  Debian:       sudo apt install chromium
  other Linux:  .venv/bin/python -m playwright install --with-deps chromium
"""
AXE = "axe-core@4.10.3"
NO_AXE = f"""
*** WHETHER EVERYONE CAN READ CARDS AND FILMS WILL NOT BE TESTED: there is no axe-core here, and npm could not fetch it. ***

  npm install --prefix .venv/node {AXE}
"""
ROOT = Path(__file__).resolve().parents[1]


def find_axe() -> Path | None:
    """axe-core's script, or None. TILE_AXE names one outright."""
    named = os.environ.get("TILE_AXE")
    path = Path(named) if named else ROOT / ".venv" / "node" / "node_modules" / "axe-core" / "axe.min.js"
    return path if path.is_file() else None


def install_axe() -> None:
    """Asks npm for axe-core, and apt for npm where there is none."""
    if not shutil.which("npm"):
        _install("npm")
    if npm := shutil.which("npm"):
        print("Fetching axe-core for the tests of cards and films.", flush=True)
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(ROOT / ".venv" / "node"), AXE]
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False, timeout=120)


def find_browser() -> str | None:
    """The path of a Chromium that starts, or None. TILE_BROWSER names one outright."""
    on_the_path = (path for name in NAMES if (path := shutil.which(name)))
    named = os.environ.get("TILE_BROWSER")
    candidates = [named] if named else [*on_the_path, *_fetched_by_playwright()]
    return next((path for path in candidates if _starts(path)), None)


def _starts(path: str) -> bool:
    try:
        version = subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return version.returncode == 0


def _fetched_by_playwright() -> list[str]:
    home = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    return [str(path) for path in sorted(home.glob("chromium-*/chrome-linux*/chrome"), reverse=True)]


def _install(package: str) -> None:
    """Installs a Debian package with apt, as root or with a sudo that needs no password; does nothing elsewhere."""
    rights = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if not shutil.which("apt-get") or (rights and not _may(rights)):
        return
    print(f"Installing Debian's {package} for the browser tests.", flush=True)

    def apt(*arguments: str) -> int:
        command = [*rights, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", *arguments]
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode

    install = ("install", "-y", "--no-install-recommends", package)
    if apt(*install):
        apt("update")
        apt(*install)


def _may(rights: list[str]) -> bool:
    """Whether sudo is here and asks for nothing."""
    return bool(shutil.which("sudo")) and not subprocess.run([*rights, "true"], capture_output=True).returncode


def main() -> int:
    if find_axe() is None:
        install_axe()
    if find_axe() is None:
        print(NO_AXE, file=sys.stderr, flush=True)
    if find_browser() is None:
        _install("chromium")
    if find_browser() is not None:
        return 0
    print(MISSING, file=sys.stderr, flush=True)
    return 1 if os.environ.get("CI") == "true" else 0


if __name__ == "__main__":
    raise SystemExit(main())
