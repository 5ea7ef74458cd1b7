"""Verdicts by content: resumed, shared, never lost, and never one of a broken machine."""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from checker.judge.result import Source
from checker.sandbox import Sandbox
from checker.submission.reader import Reader
from checker.verbs.submissions import missing_verdict
from classroom.cli import main
from classroom.grading import judging, written
from classroom.grading import score as score_module
from classroom.grading.collect import Collector
from classroom.grading.judging import RETRIES, Local, Task, judge_missing, shard, stored_verdict
from classroom.grading.keys import Setting, puzzle_version, secret_id
from classroom.grading.records import StoredVerdict
from classroom.grading.store import RunFolder
from tests.classroom.grading.classes import (
    CPU,
    VECTOR_ADD,
    BrokenRunner,
    Quick,
    differing,
    differing_class,
    laid_out,
    notebook,
    run_folder,
    scored,
    verdict,
    wanted,
)
from tests.classroom.grading.conftest import RIGHT, UNMASKED


def test_equal_kernels_are_judged_once_and_only_what_is_missing(tmp_path: Path, sandbox: Sandbox) -> None:
    files = {"anna.py": RIGHT, "bob.ipynb": notebook("x = 1", RIGHT), "carol.py": UNMASKED}
    folder = run_folder(tmp_path, files)
    every = wanted(folder)
    assert [task.learners for task in every] == [("anna", "bob"), ("carol",)]
    judged = judge_missing(folder, every, CPU, Local(sandbox))  # type: ignore[arg-type]
    assert (judged.stored, judged.faults) == (2, [])
    kept = [folder.verdict(task.key) for task in every]
    assert [one.result.status for one in kept if one] == ["passed", "failed"]
    assert all(one and one.card and one.sandbox == sandbox.tier for one in kept)
    anna, bob, _ = scored(folder).submissions
    assert [(one.puzzles[0].source or Source(file="")).place for one in (anna, bob)] == ["anna.py", "bob.ipynb, cell 2"]
    again = Quick()
    assert judge_missing(folder, wanted(folder), CPU, again).stored == 0
    assert again.made == []


def test_a_verdict_is_the_same_however_often_and_names_the_learner_s_own_lines(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    made, texts = [], []
    for n, file in enumerate(("x.py", "y.py", "y.py")):
        texts.append("import triton\n" * 4 * (n > 0) + UNMASKED)
        (task,) = wanted(run_folder(tmp_path / str(n), {file: texts[-1]}))
        made.append(stored_verdict(task, CPU, None, sandbox))  # type: ignore[arg-type]
    one, other, again = (replace(stored.result, seconds=0.0) for stored in made if isinstance(stored, StoredVerdict))
    assert other == again
    assert made[0].key != made[1].key == made[2].key
    for result, text in ((one, texts[0]), (other, texts[1])):
        assert result.failure is not None
        assert result.failure.line is not None
        assert "tl.store" in text.splitlines()[result.failure.line - 1]


def test_a_key_follows_puzzle_kernel_secret_device_and_limits(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, {"anna.py": RIGHT})
    settings = [
        CPU,
        Setting(diagnose=True),
        Setting(diagnose=False, secret_id=secret_id(b"spring")),
        Setting(diagnose=False, device="NVIDIA H100"),
        Setting(diagnose=False, seconds=5.0),
    ]
    assert len({wanted(folder, setting)[0].key for setting in settings}) == len(settings)
    assert puzzle_version("vector_add") != puzzle_version("row_softmax")
    assert "spring" not in secret_id(b"spring")


def test_shards_cover_everything_once() -> None:
    every = [Task(f"{random.getrandbits(160):040x}", VECTOR_ADD, None) for _ in range(50)]  # type: ignore[arg-type]
    parts = [shard(every, n, 3) for n in (1, 2, 3)]
    assert sorted(task.key for part in parts for task in part) == sorted(task.key for task in every)


def test_a_fault_of_the_machine_is_no_verdict_and_is_tried_again(tmp_path: Path, sandbox: Sandbox) -> None:
    folder = run_folder(tmp_path, {"anna.py": RIGHT})
    every = wanted(folder)
    broken = judge_missing(folder, every, CPU, Local(BrokenRunner(sandbox, 10**9)))  # type: ignore[arg-type]
    assert (broken.stored, [fault.tried for fault in broken.faults]) == (0, [1 + RETRIES])
    assert folder.missing([every[0].key]) == [every[0].key]
    assert folder.fault(every[0].key) is not None
    repaired = judge_missing(folder, every, CPU, Local(BrokenRunner(sandbox, RETRIES)))  # type: ignore[arg-type]
    assert repaired.stored == 1
    assert folder.fault(every[0].key) is None


def test_time_that_is_used_up_in_this_run_counts_too_and_for_no_other_learner(tmp_path: Path) -> None:
    anna, ben, chris = differing(3)
    folder = run_folder(tmp_path, {"anna/1.py": anna, "anna/2.py": ben, "ben/1.py": chris})
    every = wanted(folder)
    judged = judge_missing(folder, every, CPU, Quick(), learner_seconds=0.05)
    assert (judged.stored, len(judged.faults)) == (2, 1)
    assert [task.learners for task in every if folder.fault(task.key)] == [("anna",)]
    assert "more than the 0.05 s" in judged.faults[0].message


def test_a_damaged_verdict_is_made_again(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, {"anna.py": RIGHT})
    (task,) = wanted(folder)
    folder.keep_verdict(verdict(task.key))
    path = next((folder.path / "verdicts").iterdir())
    for damage in (b"", path.read_bytes()[:50], b'{"schema": "verdict/v1"}'):
        path.write_bytes(damage)
        assert folder.missing([task.key]) == [task.key]


def test_ctrl_c_keeps_what_is_stored(tmp_path: Path) -> None:
    folder, made = differing_class(tmp_path, 4), []

    def stop(verdict: object) -> None:
        made.append(verdict)
        if len(made) == 2:
            raise KeyboardInterrupt

    judged = judge_missing(folder, wanted(folder), CPU, Quick(), report=stop)
    assert (judged.stored, judged.interrupted) == (2, True)
    assert judge_missing(folder, wanted(folder), CPU, Quick()).stored == 2


def times_of_verdicts(folder: RunFolder) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (folder.path / "verdicts").glob("*.json")}


def test_kill_9_at_twenty_random_moments_loses_nothing_and_nothing_is_made_twice(tmp_path: Path) -> None:
    """Sixty kernels; the processes write to one log after each verdict that is stored."""
    folder = differing_class(tmp_path, 60)
    every, log = wanted(folder), tmp_path / "log"
    log.touch()
    draw, kills = random.Random(20), 0
    while kills < 20 and folder.missing(task.key for task in every):
        child = os.fork()
        if child == 0:
            try:
                judge_missing(folder, every, CPU, Quick(log))
            finally:
                os._exit(0)
        time.sleep(draw.uniform(0.0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kills += 1
    before = times_of_verdicts(folder)
    engine = Quick()
    judge_missing(folder, every, CPU, engine)
    assert folder.missing(task.key for task in every) == []
    after = times_of_verdicts(folder)
    assert before.items() <= after.items()  # what was there was not written again
    assert kills == 20 or not engine.made
    logged = log.read_text().split()
    assert len(logged) == len(set(logged))
    assert set(logged) <= {name.removesuffix(".json") for name in before}


def test_a_fault_at_one_learner_costs_nobody_else_anything_at_any_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The grader fails at the fourth of ten, wherever it meets them: they are ungraded and have a message, nine are graded."""
    kernels = differing(10)
    laid_out(tmp_path / "class", {f"learner{n}.py": text for n, text in enumerate(kernels)})
    monkeypatch.setattr(judging, "judged", lambda puzzle, *_, **__: missing_verdict(puzzle, "", "cpu"))
    monkeypatch.setattr(score_module, "points_of", lambda *_: {"values": 1.0})

    def failing(real: Callable[..., Any], at: int) -> Callable[..., Any]:
        def fail(*arguments: Any, **named: Any) -> Any:
            if re.search(r"learner3\.py|kernel 3\b", str(arguments[at])):
                raise ValueError("boom")
            return real(*arguments, **named)

        return fail

    for module, name, at in (
        (Collector, "_add", 1),
        (Reader, "read", 1),
        (judging, "without_origin", 0),
        (judging, "judged", 1),
        (score_module, "without_origin", 0),
        (score_module, "source_of", 0),
        (written, "learner_page", 0),
    ):
        stage = name.replace("learner_page", "report")
        run = tmp_path / f"{module.__name__}.{name}"
        with monkeypatch.context() as patch:
            patch.setattr(module, name, failing(getattr(module, name), at))
            options = ["--puzzle", "vector_add", "--device", "cpu", "-o", str(run)]
            assert main(["all", str(tmp_path / "class"), *options]) == 3, run
        rows = {one.learner.id: one for one in RunFolder(run).results.submissions}
        status = "graded" if stage == "report" else "ungraded"
        assert {name: one.status for name, one in rows.items()} == {
            f"learner{n}": status if n == 3 else "graded" for n in range(10)
        }, run
        assert {one.score for name, one in rows.items() if name != "learner3"} == {1.0}
        said = rows["learner3"].puzzles[0].gates[0].message + "".join(capsys.readouterr())
        assert "boom" in said or module is judging, run
        pages = {path.stem for path in (run / "report" / "learners").iterdir()}
        assert len(pages) == (9 if stage == "report" else 10)


def test_a_leftover_print_costs_nothing_and_nobody_hears_it(
    sandbox: Sandbox, capfd: pytest.CaptureFixture[str]
) -> None:
    said = 'tl.static_assert(BLOCK_N >= 1, f"BLOCK_N is {BLOCK_N}")\n    print("x", x)\n    tl.static_print("hello")\n    # your code ends'
    with Reader() as reader:
        text = RIGHT.replace("# your code ends", said).encode()
        (inner,) = reader.read("a.py", text, {VECTOR_ADD.kernel: "vector_add"})
    (found,) = inner.found
    assert found.source is not None
    made = stored_verdict(Task("key", VECTOR_ADD, found.source), CPU, None, sandbox)  # type: ignore[arg-type]
    assert isinstance(made, StoredVerdict)
    assert made.result.status == "passed"
    assert "hello" not in made.card.replace("tl.static_print", "")
    assert capfd.readouterr() == ("", "")
