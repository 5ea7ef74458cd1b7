"""A judge that dies takes no verdict of the class with it, and one that always dies gives up."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from classroom.grading import judge_process
from classroom.grading.judge_process import GpuPool
from classroom.grading.judging import judge_missing
from classroom.grading.records import Fault
from tests.classroom.grading.classes import CPU
from tests.classroom.grading.test_judge_process import NO_GPU, judged_as_one_process_does, no_gpu, wanted_of  # noqa: F401


def test_two_judges_share_the_work_and_one_that_is_killed_loses_nothing(tmp_path: Path, no_gpu: None) -> None:
    folder, every = wanted_of(tmp_path, 4)
    processes: list[int] = []
    start = judge_process._Judge._start

    def noted(self: Any) -> None:
        start(self)
        processes.append(self._process.pid)

    def kill(made: object) -> None:
        if len(processes) == 2:
            os.kill(processes[0], signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge_process._Judge, "_start", noted)
        judged = judge_missing(folder, every, CPU, GpuPool(NO_GPU), report=kill)
    assert (judged.stored, judged.faults) == (4, [])
    assert len(processes) == 3
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    assert judged_as_one_process_does(folder, every[0], CPU)


def test_a_judge_whose_kernel_always_ends_it_gives_up(tmp_path: Path, no_gpu: None) -> None:
    _, (task,) = wanted_of(tmp_path, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge_process, "request", lambda *_: b"no request")
        (made,) = GpuPool(NO_GPU[:1]).verdicts([task], CPU)
    assert isinstance(made, Fault)
    assert made.tried == 3
    assert "exit status" in made.message
