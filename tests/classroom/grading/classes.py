"""A class as platforms export it: right and wrong kernels, and what people hand in besides."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from checker.course import PUZZLES
from checker.judge.result import CaseCounts, DiagnosisRecord, GateRecord, PuzzleResult, Result
from checker.judge.verdict import Status
from checker.puzzle import GATES, Gate
from checker.sandbox import Sandbox
from checker.submission.reader import Reader
from classroom.grading import collect
from classroom.grading.judging import Task, tasks
from classroom.grading.keys import Setting
from classroom.grading.policy import Policy
from classroom.grading.records import Collected, Fault, Learner, StoredVerdict
from classroom.grading.roster import Roster, read_roster
from classroom.grading.score import score
from classroom.grading.store import RunFolder
from tests.classroom.grading.conftest import RIGHT

VECTOR_ADD = PUZZLES["vector_add"]
CPU = Setting(diagnose=False)
CANVAS_BOOK = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Tile by Tile (77)\n"
    "    Points Possible,,,,,1\n"
    '"Smith, Anna",101,s1,anna,A,\n"Jones, Bob",102,s2,bob,A,\n"Le, Carol",103,,,A,\n"Green, Gus",106,,,B,\n'
)


def notebook(*cells: str) -> str:
    made = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "outputs": [], "execution_count": None, "source": text}
        for n, text in enumerate(cells)
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def laid_out(root: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def collected(path: Path, roster: Roster | None = None, assignment: str | None = None) -> Collected:
    with Reader() as reader:
        return collect.collect(path, [VECTOR_ADD], reader, roster=roster, assignment=assignment)[0]


def by_id(collected: Collected) -> dict[str, Learner]:
    return {learner.person.id: learner for learner in collected.learners}


def roster_of(path: Path, text: str) -> Roster:
    """What is read of a roster file with this text."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "roster.csv").write_text(text)
    return read_roster(path / "roster.csv")


def run_folder(path: Path, files: Mapping[str, str | bytes], roster: str = "") -> RunFolder:
    """A run for which the files have been collected, with the text of a roster."""
    laid_out(path / "class", files)
    folder = RunFolder(path / "run")
    with Reader() as reader:
        people = roster_of(path, roster) if roster else None
        folder.keep_collected(*collect.collect(path / "class", [VECTOR_ADD], reader, roster=people))
    return folder


def differing(count: int) -> list[str]:
    """Right kernels that differ in a comment inside, so that each is judged."""
    return [RIGHT.replace("    # your code starts", f"    # kernel {n}\n    # your code starts") for n in range(count)]


def differing_class(path: Path, count: int) -> RunFolder:
    """A run of so many learners with different right kernels."""
    return run_folder(path, {f"learner{n:02}.py": text for n, text in enumerate(differing(count))})


def wanted(folder: RunFolder, setting: Setting = CPU) -> list[Task]:
    return tasks(folder.collected, folder, [VECTOR_ADD], setting)


def scored(folder: RunFolder, policy: Policy = Policy()) -> Result:  # noqa: B008 (it is frozen)
    return score(folder, [VECTOR_ADD], policy, CPU)


def keep_results(folder: RunFolder) -> None:
    folder.keep_setting(CPU)
    folder.keep_results(scored(folder))


def judged_as(
    stopped: Gate | None, status: Status = "failed", right: int = 0, run: int = 20, device: str = "cpu"
) -> PuzzleResult:
    """The result of a kernel that stopped at a gate (None: that passed)."""
    at = GATES.index(stopped) if stopped else len(GATES)
    statuses: list[Status] = ["passed" if n < at else status if n == at else "skipped" for n in range(len(GATES))]
    if device == "cpu" and stopped is None:
        statuses[GATES.index("gpu")] = "skipped"
    gates = (
        GateRecord(gate=gate, status=one, message=f"{gate} is {one}.", line=3)
        for gate, one in zip(GATES, statuses, strict=True)
    )
    message = "You may have assumed: All lanes exist.\n\nIn fact: Some do not.\n\nTry: Mask them."
    no_mask = DiagnosisRecord(misconception="no_mask", message=message, believed="All lanes exist.")
    return PuzzleResult(
        puzzle="vector_add",
        status=status if stopped else "passed",
        score=0.0,
        max_score=1.0,
        device=device,
        gates=tuple(gates),
        cases=CaseCounts(right=right, run=run),
        diagnosis=no_mask if stopped == "values" else None,
    )


def keep(folder: RunFolder, *results: PuzzleResult, card: str = "") -> None:
    """A verdict for each different kernel of the run, in order."""
    for task, result in zip(wanted(folder), results, strict=True):
        folder.keep_verdict(StoredVerdict(key=task.key, result=result, card=card, sandbox="landlock+rlimits"))


class BrokenRunner:
    """A machine whose sandbox does not work for the first `failures` calls."""

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


def verdict(key: str) -> StoredVerdict:
    return StoredVerdict(key=key, result=replace(judged_as(None), seconds=0.1), sandbox="none")


class Quick:
    """An engine that runs no kernel, and notes the key of each task."""

    def __init__(self, log: Path | None = None) -> None:
        self.made: list[str] = []
        self.log = log

    def verdicts(self, wanted: Sequence[Task], setting: Setting) -> Iterator[StoredVerdict | Fault]:
        for task in wanted:
            time.sleep(0.003)
            self.made.append(task.key)
            yield verdict(task.key)
            if self.log is not None:  # stored by now
                with self.log.open("a") as file:
                    file.write(task.key + "\n")
