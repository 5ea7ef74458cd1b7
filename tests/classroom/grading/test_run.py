"""A batch, graded for real: what is right, wrong, broken and hostile, and a stop in the middle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from checker import checking
from checker.course import LADDER
from checker.judge.result_v1 import RESULT_SCHEMA
from checker.sandbox import Sandbox
from checker.verbs import grade as run
from checker.verbs import result_json
from checker.verbs import submissions as collect
from tests.classroom.grading.classes import VECTOR_ADD
from tests.classroom.grading.conftest import RIGHT


def grade(folder: Path, sandbox: Any, **options: Any) -> run.Batch:
    found = collect.submissions([folder], LADDER)
    return run.grade(found, LADDER, "cpu", diagnose=False, runner=sandbox, **options)


def statuses(batch: run.Batch) -> dict[str, list[str]]:
    return {g.submission.name: [v.status for v in g.verdicts] for g in batch.graded}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_class_is_graded_and_the_best_try_counts(handed_in: Path, sandbox: Sandbox, jobs: int) -> None:
    batch = grade(handed_in, sandbox, jobs=jobs)
    assert statuses(batch) == {
        "alice.py": ["passed"],
        "bob": ["failed"],  # the stub beside the attempt does not count
        "carol.py": ["compile_error"],
        "dave.py": ["not_attempted"],
        "erin.py": [],
        "mallory.py": ["forbidden"],
    }
    assert batch.exit_code == 1
    assert [v.score for v in batch.verdicts] == [1.0, 0.0, 0.0, 0.0, 0.0]


def test_the_document_follows_result_v1(handed_in: Path, sandbox: Sandbox, tmp_path: Path) -> None:
    batch = grade(handed_in, sandbox)
    graded = [(g.submission.name, g.verdicts) for g in batch.graded]
    result_json.write(
        str(tmp_path / "out" / "result.json"),
        result_json.document(graded, result_json.environment("cpu", sandbox.tier)),
    )
    written = json.loads((tmp_path / "out" / "result.json").read_text())
    jsonschema.validate(written, RESULT_SCHEMA)
    assert [s["submission"] for s in written["submissions"]] == list(statuses(batch))
    assert written["environment"]["sandbox"] == sandbox.tier


def test_a_wanted_puzzle_that_is_missing_is_not_attempted(tmp_path: Path, sandbox: Sandbox) -> None:
    (tmp_path / "erin.py").write_text("print('hello')\n")
    found = collect.submissions([tmp_path], LADDER)
    batch = run.grade(found, [VECTOR_ADD], "cpu", wanted=[VECTOR_ADD], runner=sandbox)
    assert statuses(batch) == {"erin.py": ["not_attempted"]}
    assert batch.verdicts[0].max_score == 1.0


def test_stopping_keeps_what_was_graded(handed_in: Path, sandbox: Sandbox) -> None:
    def stop(graded: run.Graded) -> None:
        if graded.submission.name == "bob":
            raise KeyboardInterrupt

    batch = grade(handed_in, sandbox, report=stop)
    assert statuses(batch) == {"alice.py": ["passed"], "bob": ["failed"]}
    assert batch.interrupted
    assert batch.exit_code == 3


class BrokenRunner:
    """A machine whose sandbox does not work, for the first `failures` calls or for good."""

    def __init__(self, real: Sandbox, failures: int) -> None:
        self.real, self.left = real, failures

    def compile(self, *arguments: Any, **named: Any) -> Any:
        if self.left > 0:
            self.left -= 1
            raise OSError("no more processes")
        return self.real.compile(*arguments, **named)

    def simulate(self, *arguments: Any) -> Any:
        return self.real.simulate(*arguments)

    def launch(self, *arguments: Any) -> Any:
        return self.real.launch(*arguments)


def test_a_broken_machine_is_never_the_learners_failure(tmp_path: Path, sandbox: Sandbox) -> None:
    (tmp_path / "alice.py").write_text(RIGHT)
    batch = grade(tmp_path, BrokenRunner(sandbox, 10**9))
    assert statuses(batch) == {"alice.py": ["infra_error"]}
    assert batch.exit_code == 3
    assert "says nothing about your kernel" in batch.verdicts[0].gates[0].message


def test_nothing_graded_is_wrong_usage() -> None:
    assert run.Batch().exit_code == 2


def test_a_gpu_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checker.gpu.available", lambda: False)
    assert checking.resolve_device("auto") == "cpu"
    with pytest.raises(checking.DeviceMissing, match="doctor"):
        checking.resolve_device("cuda")
    with pytest.raises(ValueError, match="auto, cpu, cuda"):
        checking.resolve_device("tpu")
