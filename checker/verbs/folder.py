"""`lab`: a folder of the learner's own with the course's notebooks and puzzles, opened in JupyterLab."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from checker.verbs.arguments import UnavailableHere, UsageError
from checker.workspace import COURSE, UNWRITABLE

FIRST = Path("notebooks") / "00_start_here.ipynb"
PARTS = ("notebooks/*.ipynb", "puzzles/*.py")
NO_LAB = 'JupyterLab is not installed here: `pip install "tile-by-tile[lab]"` adds it. Your folder is ready: {folder}.'


def fill(folder: Path) -> list[Path]:
    """Copy notebooks and puzzles that `folder` lacks; what is there stays as it is. Returns what was copied. Raises UsageError."""
    copied = []
    try:
        for path in (path for part in PARTS for path in sorted(COURSE.glob(part))):
            target = folder / path.relative_to(COURSE)
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
                copied.append(target)
    except OSError as error:
        raise UsageError(f"The course cannot be copied to {folder}: {error}. {UNWRITABLE}") from None
    return copied


def lab(folder: Path, browser: bool = True) -> int:
    """Fill `folder`, and open its first notebook in JupyterLab. Returns JupyterLab's exit code. Raises UsageError."""
    copied = fill(folder)
    print(
        f"{len(copied)} new files in {folder}" if copied else f"{folder} has all notebooks and puzzles already",
        flush=True,
    )
    if importlib.util.find_spec("jupyterlab") is None:
        raise UnavailableHere(NO_LAB.format(folder=folder))
    command = [sys.executable, "-m", "jupyterlab", f"--notebook-dir={folder}", str(folder / FIRST)]
    command += [] if browser else ["--no-browser"]
    command += ["--allow-root"] if hasattr(os, "getuid") and os.getuid() == 0 else []
    return subprocess.run(command, check=False).returncode
