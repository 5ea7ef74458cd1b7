"""What a node of a cluster refuses to judge, and the answers that the grader refuses. The cluster itself has a test in `exhaustive`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import msgspec
import pytest

from checker.sandbox import Sandbox
from classroom.grading.judging import Task
from classroom.grading.keys import Setting
from classroom.grading.ray_engine import answer, judged, request
from classroom.grading.records import Fault
from tests.classroom.grading.classes import CPU, differing_class, wanted


def refused(task: Task, setting: Setting, isolation: tuple[str, ...] = ()) -> str:
    made = answer(judged(request(task, setting, None, isolation)), task)
    assert isinstance(made, Fault)
    return made.message


def test_a_machine_that_differs_or_isolates_less_judges_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sandbox, "shared", lambda: Namespace(tier="rlimits", gaps=()))
    (task,) = wanted(differing_class(tmp_path, 1))
    assert "lacks: seccomp" in refused(task, CPU, ("seccomp",))
    other = msgspec.structs.replace(CPU, seconds=1.0)
    assert "other versions or another GPU" in refused(task, other)
    elsewhere = Setting(device="NVIDIA of another node")
    (there,) = wanted(differing_class(tmp_path / "gpu", 1), elsewhere)
    assert "another GPU" in refused(there, elsewhere)


def test_an_answer_to_another_request_is_refused(tmp_path: Path) -> None:
    task, other = wanted(differing_class(tmp_path, 2))
    data = msgspec.json.encode((None, Fault(key=other.key, message="", tried=1)))
    with pytest.raises(ValueError, match="another request"):
        answer(data, task)
