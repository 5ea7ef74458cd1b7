"""`grade`: submissions without a class. What is right, wrong, broken and hostile, and a stop in the middle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from checker.course import LADDER
from checker.course.launchers import JUDGED
from checker.judge.result import Result, Submission, schema, to_json
from checker.sandbox import Sandbox
from checker.verbs.grade import MOST_THREADS, Batch, Grader
from checker.verbs.submissions import submissions
from tests.classroom.grading.classes import VECTOR_ADD, BrokenRunner, laid_out, notebook, zipped
from tests.classroom.grading.conftest import HOSTILE, NO_SYNTAX, RIGHT, ROOT, STUB, UNMASKED, sandbox  # noqa: F401


@pytest.fixture
def handed_in(tmp_path: Path) -> Path:
    files = {
        "alice.py": RIGHT,
        "bob/vector_add.py": STUB,
        "bob/attempts/second.ipynb": notebook("x = 1", UNMASKED),
        "carol.py": NO_SYNTAX,
        "dave.py": STUB,
        "erin.py": "print('hello')\n",
        "mallory.py": HOSTILE,
        "notes.txt": "not code",
    }
    return laid_out(tmp_path / "class", files)


def grade(folder: Path, sandbox: Any, jobs: int = 1, **options: Any) -> Batch:  # noqa: F811
    grader = Grader((), "cpu", diagnose=False, runner=sandbox)
    return grader.grade(submissions([folder], LADDER), jobs, **options)


def statuses(batch: Batch) -> dict[str, list[str]]:
    return {one.learner.id: [puzzle.status for puzzle in one.puzzles] for one in batch.submissions}


def entries(*paths: Path) -> dict[str, list[str]]:
    every = tuple(JUDGED.values())
    return {s.name: [e.puzzle if e.source else e.reason for e in s.entries] for s in submissions(paths, every)}


def test_each_file_and_each_thing_in_a_folder_is_one_submission(handed_in: Path, tmp_path: Path) -> None:
    hidden = (".ipynb_checkpoints/a.py", "__pycache__/a.py", ".tile-by-tile/passed/a.py")
    laid_out(handed_in, dict.fromkeys(hidden, RIGHT))
    assert entries(handed_in) == {
        "alice.py": ["vector_add"],
        "bob": ["vector_add", "vector_add"],
        "carol.py": ["syntax"],
        "dave.py": ["vector_add"],
        "erin.py": ["no_kernel"],
        "mallory.py": ["vector_add"],
    }
    laid_out(tmp_path, {"bob.zip": zipped({"bob/vector_add.py": RIGHT})})
    assert entries(handed_in / "alice.py", tmp_path / "bob.zip") == {
        "alice.py": ["vector_add"],
        "bob.zip": ["vector_add"],
    }
    solutions = entries(ROOT / "solutions")
    assert solutions.pop("launchers") == ["paged_decode"]
    assert list(solutions) == sorted(f"{puzzle.name}.py" for puzzle in LADDER)
    laid_out(tmp_path, {"monday/a.py": STUB, "tuesday/a.py": STUB})
    assert len(entries(tmp_path / "monday", tmp_path / "tuesday")) == 2, "two files of one name are kept apart"


def test_a_class_is_graded_the_best_try_counts_and_the_file_follows_its_schema(
    handed_in: Path,
    sandbox: Sandbox,  # noqa: F811
) -> None:
    batch = grade(handed_in, sandbox, jobs=2)
    assert statuses(batch) == {
        "alice.py": ["passed"],
        "bob": ["failed"],  # the stub beside the attempt does not count
        "carol.py": ["compile_error"],
        "dave.py": ["not_attempted"],
        "erin.py": [],
        "mallory.py": ["forbidden"],
    }
    assert batch.exit_code == 1
    assert [puzzle.score for puzzle in batch.puzzles] == [1.0, 0.0, 0.0, 0.0, 0.0]
    written = json.loads(to_json(batch.result("cpu", sandbox.tier)))
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(written, schema(Result))
    (bob,) = written["submissions"][1]["puzzles"]
    assert {name: bob["source"][name] for name in ("file", "cell", "line")} == {
        "file": "bob/attempts/second.ipynb",
        "cell": 2,
        "line": 7,
    }
    failed = next(gate for gate in bob["gates"] if gate["status"] == "failed")
    store = next(number for number, line in enumerate(UNMASKED.splitlines(), 1) if "tl.store" in line)
    assert (failed["gate"], failed["line"]) == ("memory", store)
    assert failed["case"].startswith("N = ")
    assert bob["cases"]["right"] == bob["cases"]["run"] > 10
    assert written["environment"]["sandbox"] == sandbox.tier
    for change in ({"status": "green"}, {"extra": 1}, {"score": "1"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(written | {"submissions": [written["submissions"][0] | change]}, schema())


def test_a_requested_puzzle_that_is_missing_is_not_attempted(tmp_path: Path, sandbox: Sandbox) -> None:  # noqa: F811
    (tmp_path / "erin.py").write_text("print('hello')\n")
    grader = Grader([VECTOR_ADD], "cpu", runner=sandbox)  # type: ignore[arg-type]
    batch = grader.grade(submissions([tmp_path], LADDER))
    assert statuses(batch) == {"erin.py": ["not_attempted"]}
    assert batch.puzzles[0].max_score == 1.0


def test_stopping_keeps_what_was_graded(handed_in: Path, sandbox: Sandbox) -> None:  # noqa: F811
    def stop(graded: Submission) -> None:
        if graded.learner.id == "bob":
            raise KeyboardInterrupt

    batch = grade(handed_in, sandbox, report=stop)
    assert statuses(batch) == {"alice.py": ["passed"], "bob": ["failed"]}
    assert batch.interrupted
    assert batch.exit_code == 3


def test_a_broken_machine_is_never_the_learners_failure(tmp_path: Path, sandbox: Sandbox) -> None:  # noqa: F811
    (tmp_path / "alice.py").write_text(RIGHT)
    batch = grade(tmp_path, BrokenRunner(sandbox, 10**9))
    assert statuses(batch) == {"alice.py": ["infra_error"]}
    assert (batch.exit_code, batch.submissions[0].status) == (3, "ungraded")
    assert "says nothing about your kernel" in batch.puzzles[0].gates[0].message
    assert Batch().exit_code == 2, "nothing graded is wrong usage"


def test_many_at_a_time_are_graded_in_processes(tmp_path: Path) -> None:
    laid_out(tmp_path, {"ada.py": RIGHT, "bob.py": UNMASKED})
    batch = Grader([VECTOR_ADD], "cpu", diagnose=False).grade(submissions([tmp_path], [VECTOR_ADD]), MOST_THREADS + 1)
    assert statuses(batch) == {"ada.py": ["passed"], "bob.py": ["failed"]}
