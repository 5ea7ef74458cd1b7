"""A kernel that unrolls without end cannot take all of a class's time."""

from __future__ import annotations

import time
from pathlib import Path

from checker.sandbox import Sandbox
from checker.sandbox.limits import Limits
from classroom.grading.judging import Local
from classroom.grading.keys import Setting
from classroom.grading.records import StoredVerdict
from tests.classroom.grading.classes import run_folder, wanted
from tests.classroom.grading.conftest import RIGHT


def test_a_kernel_that_unrolls_without_end_fails_in_bounded_time(tmp_path: Path) -> None:
    body = "for i in tl.static_range(1000):\n        for j in tl.static_range(1000):\n            x_ptr += 0\n"
    kernel = RIGHT.replace("    # your code starts", f"    {body}    # your code starts")
    folder = run_folder(tmp_path, {"mallory.py": kernel})
    setting = Setting(diagnose=False, seconds=6.0)
    began = time.monotonic()
    with Sandbox(Limits(compile=3.0)) as sandbox:
        (made,) = Local(sandbox).verdicts(wanted(folder, setting), setting)  # type: ignore[arg-type]
    assert isinstance(made, StoredVerdict)
    assert made.result.status in ("forbidden", "timeout", "resource_limit")
    assert time.monotonic() - began < 240
