"""A class as platforms export it: right and wrong kernels, and what people hand in besides."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from checker.course import PUZZLES
from checker.submission.reader import Reader
from classroom.grading import handed_in
from classroom.grading.judging import Task, tasks
from classroom.grading.keys import Setting
from classroom.grading.policy import Policy
from classroom.grading.records import Collected, Learner, Result
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
        return handed_in.collect(path, [VECTOR_ADD], reader, roster=roster, assignment=assignment)[0]


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
        folder.keep_collected(*handed_in.collect(path / "class", [VECTOR_ADD], reader, roster=people))
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
