"""The core on systems that are not Linux, as far as Linux can show it: a Python without what they lack.

This shows what leans on Linux. How a Mac or Windows behaves, only the workflow's machines show.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from typing import Any

from checker.sandbox import Sandbox
from checker.sandbox.job_object import _Limits
from tests.sandbox.conftest import ROOT
from tests.sandbox.stripped.session import verdicts


def test_a_learner_works_on_windows(sandbox: Sandbox) -> None:
    works_without_linux("Windows", sandbox)


def works_without_linux(system: str, sandbox: Sandbox) -> dict[str, Any]:
    """What a session in a Python without the names that this system lacks reports."""
    folders = os.pathsep.join([str(ROOT / "tests/sandbox/stripped"), str(ROOT)])
    environment = {**os.environ, "LIKE": system, "PYTHONPATH": folders}
    command = [sys.executable, "-P", "-m", "tests.sandbox.stripped.session"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])

    assert seen["tier"] == "no isolation"
    assert seen["verdicts"] == json.loads(json.dumps(verdicts(sandbox)))
    assert [verdict[0] for verdict in seen["verdicts"].values()] == ["passed", "failed", "failed", "failed"]
    assert seen["the process stays"], "ending early must not cost a restart"
    assert seen["endless"] in (["timeout", 6], ["timeout", 7])
    assert seen["crashed"] == ["runtime_error", "The kernel crashed: its process ended with exit code 7."]
    assert seen["interrupted"]
    assert seen["film"] > 10_000
    assert seen["graded"] == 3
    assert "without isolation" in seen["refusal"]
    return seen


def test_the_limits_of_a_job_object_have_the_size_that_windows_expects() -> None:
    assert ctypes.sizeof(_Limits) == 144
