"""An environment like this one, without Triton: its packages, linked, all but Triton's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy
import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., str]


@pytest.fixture(scope="session")
def without_triton(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a module of this checkout where no Triton is installed; gives what it prints, or what it complains of if it should fail."""
    packages = tmp_path_factory.mktemp("packages")
    installed = {Path(module.__file__ or "").parents[1] for module in (msgspec, numpy, torch)}
    for entry in (entry for folder in installed for entry in folder.iterdir()):
        if not entry.name.startswith("triton") and entry.suffix != ".pth" and not (packages / entry.name).exists():
            (packages / entry.name).symlink_to(entry)

    def run(*arguments: str, code: int = 0) -> str:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(packages)])}
        # -S: without the site-packages of this interpreter
        command = [sys.executable, "-S", "-m", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr[-2000:]
        return done.stderr if code else done.stdout

    return run
