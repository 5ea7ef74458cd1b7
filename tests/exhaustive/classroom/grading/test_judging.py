"""A run of a class that is stopped goes on where it was, and no verdict is judged twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.classroom.grading.classes import differing_class
from tests.classroom.grading.conftest import ROOT
from tests.classroom.grading.test_judging import times_of_verdicts


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_real_run_goes_on_where_it_was_stopped(tmp_path: Path, how: signal.Signals) -> None:
    folder = differing_class(tmp_path, 4)
    command = [sys.executable, "-m", "classroom", "judge", str(folder.path), "--device", "cpu", "--no-diagnosis"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=ROOT, text=True)
    assert process.stderr is not None
    while "passed" not in (line := process.stderr.readline()):
        assert line, "it ended before it judged anything"
    process.send_signal(how)
    process.stderr.read()
    assert process.wait() == (3 if how == signal.SIGTERM else -signal.SIGKILL)
    kept = times_of_verdicts(folder)
    assert 1 <= len(kept) < 4
    done = subprocess.run(command, capture_output=True, cwd=ROOT, text=True, check=False)
    assert done.returncode == 0, done.stderr
    after = times_of_verdicts(folder)
    assert len(after) == 4
    assert kept.items() <= after.items()
