"""Judges in processes of their own, one for each GPU. Names that no GPU has give judges without a GPU, on any machine."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from msgspec.structs import replace

from checker import gpu
from checker.sandbox import Sandbox
from classroom.grading.judge_process import GpuPool, answer, judged, request, visible_gpus
from classroom.grading.judging import Local, Task, judge_missing
from classroom.grading.keys import Setting
from classroom.grading.records import Fault
from classroom.grading.store import RunFolder
from tests.classroom.grading.classes import CPU, differing_class, wanted

NO_GPU = ("-1", "none")


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def wanted_of(tmp_path: Path, count: int, setting: Setting = CPU) -> tuple[Any, list[Task]]:
    folder = differing_class(tmp_path, count)
    return folder, wanted(folder, setting)


def judged_as_one_process_does(folder: RunFolder, task: Task, setting: Setting) -> bool:
    with Sandbox() as sandbox:
        (here,) = Local(sandbox).verdicts([task], setting)  # type: ignore[arg-type]
    assert not isinstance(here, Fault)
    there = folder.verdict(task.key)
    return there is not None and replace(here.result, seconds=0.0) == replace(there.result, seconds=0.0)


def test_without_a_judge_on_the_gpu_that_was_asked_for_nothing_is_judged(tmp_path: Path, no_gpu: None) -> None:
    setting = Setting(diagnose=False, device="A GPU of another kind")
    _, every = wanted_of(tmp_path, 1, setting)
    (made,) = GpuPool(NO_GPU[:1]).verdicts(every, setting)
    assert isinstance(made, Fault)
    assert "A GPU of another kind" in made.message


def refused(task: Task, setting: Setting, isolation: tuple[str, ...] = ()) -> str:
    made = answer(judged(request(task, setting, None, isolation)), task)
    assert isinstance(made, Fault)
    return made.message


def test_a_machine_that_differs_or_isolates_less_judges_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sandbox, "shared", lambda: Namespace(tier="rlimits", gaps=()))
    _, (task,) = wanted_of(tmp_path, 1)
    assert "lacks: seccomp" in refused(task, CPU, ("seccomp",))
    other = msgspec.structs.replace(CPU, seconds=1.0)
    assert "other versions or another GPU" in refused(task, other)
    elsewhere = Setting(device="NVIDIA of another node")
    _, (there,) = wanted_of(tmp_path / "gpu", 1, elsewhere)
    assert "another GPU" in refused(there, elsewhere)


def test_an_answer_to_another_request_is_refused(tmp_path: Path) -> None:
    _, (task, other) = wanted_of(tmp_path, 2)
    data = msgspec.json.encode((None, Fault(key=other.key, message="", tried=1)))
    with pytest.raises(ValueError, match="another request"):
        answer(data, task)


def test_every_gpu_that_may_be_used_has_a_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    for chosen, count, names in (
        ("", 1, ("0",)),
        ("3, 1", 2, ("3", "1")),
        ("GPU-5f,GPU-6a,GPU-gone", 2, ("GPU-5f", "GPU-6a")),
        ("", 0, ()),
    ):
        monkeypatch.setattr(gpu, "available", lambda count=count: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda count=count: count)
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
        assert visible_gpus() == names


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_two_gpus_judge_as_one_does(tmp_path: Path) -> None:
    setting = Setting(diagnose=False, device=gpu.device_name())
    folder, every = wanted_of(tmp_path, 4, setting)
    judged = judge_missing(folder, every, setting, GpuPool(visible_gpus()))
    assert (judged.stored, judged.faults) == (4, [])
    assert judged_as_one_process_does(folder, every[0], setting)
