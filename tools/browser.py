"""Sees to it that there is a browser for the tests in `tests/browser`, and says loudly when there is none.

Looks for Chromium or Chrome on the PATH, then for the one that Playwright may have fetched; installs Debian's chromium
where it may (as root, or with a sudo that asks for nothing). In CI a missing browser is a failure.
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


def find_browser() -> str | None:
    """The path of a Chromium that starts, or None. TILE_BROWSER names one outright."""
    named = os.environ.get("TILE_BROWSER")
    candidates = [named] if named else [path for name in NAMES if (path := shutil.which(name))]
    if not named:
        candidates += _fetched_by_playwright()
    return next((path for path in candidates if _starts(path)), None)


def _starts(path: str) -> bool:
    try:
        asked = subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0


def _fetched_by_playwright() -> list[str]:
    home = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    return [str(path) for path in sorted(home.glob("chromium-*/chrome-linux*/chrome"), reverse=True)]


def install_browser() -> None:
    """Asks apt for Debian's chromium, where there is an apt and it may be asked."""
    if not shutil.which("apt-get"):
        return
    if os.geteuid() == 0:
        rights = []
    elif (
        shutil.which("sudo")
        and subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0
    ):
        rights = ["sudo", "-n"]
    else:
        return
    print("Installing Debian's chromium for the browser tests.", flush=True)
    apt = [*rights, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    install = [*apt, "install", "-y", "--no-install-recommends", "chromium"]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "check": False}
    if subprocess.run(install, **quiet).returncode:  # type: ignore[call-overload]
        subprocess.run([*apt, "update"], **quiet)  # type: ignore[call-overload]
        subprocess.run(install, **quiet)  # type: ignore[call-overload]


def main() -> int:
    if find_browser() is None:
        install_browser()
    if find_browser() is not None:
        return 0
    print(MISSING, file=sys.stderr, flush=True)
    return 1 if os.environ.get("CI") == "true" else 0


if __name__ == "__main__":
    raise SystemExit(main())
