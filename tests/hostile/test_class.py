"""Attacks on the run that grades a class: on its time, its disk, and the instructor's terminal and pages."""

from __future__ import annotations

import errno
import os
import resource
import threading
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from checker import cli
from checker.compiler import CompileRequest, CompileResult, not_compiled
from checker.judge.runner import session
from checker.sandbox import Sandbox
from checker.sandbox.bounded import Bounded
from checker.submission.files import Entry
from checker.submission.reader import Reader
from checker.verbs.tables import ProgressBar
from classroom.cli import main
from classroom.grading.collect import Collector
from classroom.grading.judging import MOST_TRIES, judge_missing, stored_verdict
from classroom.grading.layouts import Layout, Place
from classroom.grading.policy import Late, Policy
from classroom.grading.records import StoredVerdict
from classroom.grading.roster import Roster
from classroom.grading.store import RunFolder
from classroom.grading.written import write_report
from tests.classroom.grading.classes import (
    CPU,
    VECTOR_ADD,
    Quick,
    differing,
    differing_class,
    keep_results,
    run_folder,
    scored,
    wanted,
)
from tests.classroom.grading.conftest import RIGHT, UNMASKED

ESCAPES = "\x1b[2J\x1b]0;owned\a"


def test_only_the_last_of_a_learner_s_many_kernels_for_a_puzzle_are_judged(tmp_path: Path) -> None:
    files = {f"mallory/{n:02}.py": text for n, text in enumerate(differing(30))} | {"zoe.py": RIGHT}
    every = wanted(run_folder(tmp_path, files))
    assert sorted(len(task.learners) for task in every) == [1] * (MOST_TRIES + 1)
    assert sum(task.learners == ("mallory",) for task in every) == MOST_TRIES


class SlowCompiler:
    """A compiler that takes a while for each request and never succeeds."""

    tier = "rlimits"
    compiled = 0

    def compile(
        self, kernel: object, requests: Sequence[CompileRequest], *, aside: bool = False
    ) -> Iterator[CompileResult]:
        for request in requests:
            time.sleep(0.05)
            self.compiled += 1
            yield not_compiled(request, "timeout", "Compiling it took too long.")


def test_a_compile_bomb_costs_the_time_limit_of_one_kernel() -> None:
    slow, requests = SlowCompiler(), [Namespace(target="A100")] * 100
    with session(Bounded(slow, 0.12, threading.Event()), gpu=False, hurry=False) as bounded:  # type: ignore[arg-type]
        results = list(bounded.compile(None, requests))  # type: ignore[arg-type]
    assert slow.compiled < 10
    assert [result.status for result in results] == ["timeout"] * 100
    assert "longer than the 0.12 s" in results[-1].message


def test_a_disk_that_fills_up_ends_the_run_and_leaves_no_half_verdict(tmp_path: Path) -> None:
    folder = differing_class(tmp_path, 3)
    every, limits = wanted(folder), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            judge_missing(folder, every, CPU, Quick())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(folder.missing(task.key for task in every)) == 3
    assert judge_missing(folder, every, CPU, Quick()).stored == 3


def test_a_read_only_folder_is_reported_as_the_machines_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_folder(tmp_path, {"zoe.py": RIGHT})
    keep_results(folder)

    def refuse(path: Path, *_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr("checker.judge.result.write_atomically", refuse)
    run = str(folder.path)
    for arguments in (["collect", str(tmp_path / "class"), "-o", run], ["score", run], ["report", run]):
        assert main(arguments) == 3
        assert "Read-only file system" in capsys.readouterr().err


def test_grading_does_not_hang_on_a_pipe_that_nobody_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "right.py").write_text(RIGHT)
    os.mkfifo(tmp_path / "pipe")
    assert cli.main(["grade", str(tmp_path / "right.py"), "--json", str(tmp_path / "pipe")]) == 2
    assert "is a device or a pipe" in capsys.readouterr().err
    assert (tmp_path / "pipe").is_fifo()


def test_a_file_with_an_impossible_date_is_graded() -> None:
    layout = Layout("one", lambda name: (Place(("mallory",), name, "mallory", time="the day after tomorrow"),))
    for seconds in (1e15, -1e15):
        with Reader() as reader:
            collector = Collector([VECTOR_ADD], reader, Roster(()), layout, None)
            collector.add(Entry("mallory.py", lambda most: RIGHT.encode()[:most], modified=seconds))
        (learner,) = collector.collection("class")[0].learners
        assert [(kernel.time, kernel.file_time) for kernel in learner.kernels] == [(None, True)]
        assert Policy(late=Late(due="2026-11-20")).lateness(learner.kernels[0].time, False) is None


def test_no_name_can_control_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """When a class is collected, judged and scored."""
    (tmp_path / "roster.csv").write_text(f'id,name\ns1,"Zoe\n{ESCAPES}fake line"\ns2,"Mal\nlory{ESCAPES}"\n')
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "s1.py").write_text(RIGHT)
    (tmp_path / "class" / os.fsdecode(b"\x1b[2Jstranger\n.py")).write_text("x = (")
    run, roster = str(tmp_path / "run"), ["--roster", str(tmp_path / "roster.csv")]
    assert main(["collect", str(tmp_path / "class"), *roster, "--puzzle", "vector_add", "-o", run]) == 0
    with ProgressBar(2) as bar:
        bar.step(f"one\n{ESCAPES}", "passed")
    keep_results(RunFolder(Path(run)))
    assert main(["score", run]) == 3  # nothing was judged
    out = capsys.readouterr()
    for text in ("\x1b", "\a", "\nfake line", "\nlory"):
        assert text not in out.out + out.err
    assert len(out.err.splitlines()) == 2  # the kernel that is judged, and who is left ungraded


def test_text_from_learners_is_escaped_on_every_page(tmp_path: Path, sandbox: Sandbox) -> None:
    """Comments, file names and names, in cards, films, tables and titles."""
    tag = "</pre></script><img src=x onerror=alert(1)>"
    kernel = UNMASKED.replace("    # your code starts", f"    # {tag}{ESCAPES}\n    # your code starts")
    files = {"mallory/a<img>.py": kernel, "mallory/b<img>.txt": tag}
    folder = run_folder(tmp_path, files, f'id,name\nmallory,"Mallory{tag}{ESCAPES}"\n')
    (task,) = wanted(folder)
    made = stored_verdict(task, CPU, None, sandbox)  # type: ignore[arg-type]
    assert isinstance(made, StoredVerdict)
    assert made.result.status == "failed"
    folder.keep_verdict(made)
    write_report(folder, scored(folder), with_films=True)
    pages = [folder.report / "class.html", folder.report / "learners" / "mallory.html"]
    for page in (path.read_text() for path in pages):
        assert "Mallory" in page
        for text in ("<img", "\x1b", "\a"):
            assert text not in page
    assert "Watch it fail" in pages[1].read_text()
