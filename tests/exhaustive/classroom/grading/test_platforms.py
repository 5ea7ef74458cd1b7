"""A real nbgrader gives the points that the grader gives."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from checker.submission.reader import course_on_path
from tests.classroom.grading.classes import VECTOR_ADD
from tests.classroom.grading.conftest import RIGHT, UNMASKED
from tools import nbgrader_course
from tools.companions import python_of


def test_nbgrader_gives_the_same_points(tmp_path: Path) -> None:
    python = python_of("nbgrader")
    if python is None:
        pytest.skip("there is no nbgrader: THE COURSE FOR IT IS NOT TESTED (tools/companions.py fetches it)")
    nbgrader_course.write(tmp_path, "hw1", [VECTOR_ADD])

    def nbgrader(*arguments: str) -> None:
        programs = f"{python.parent}{os.pathsep}{os.environ['PATH']}"  # nbgrader calls alembic by its name
        environment = course_on_path() | {
            "PATH": programs,
            "JUPYTER_PATH": str(Path(sys.prefix, "share", "jupyter")),  # nbconvert's templates
            "JUPYTER_PLATFORM_DIRS": "1",
            "HOME": str(tmp_path),
        }
        command = [python, "-m", "nbgrader", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    nbgrader("generate_assignment", "hw1", "--create")
    release = nbformat.read(tmp_path / "release" / "hw1" / "vector_add.ipynb", as_version=4)
    assert "tl.store" not in release.cells[1].source
    for student, kernel in {"anna": RIGHT, "bob": UNMASKED, "carol": None}.items():
        handed_in = tmp_path / "submitted" / student / "hw1"
        handed_in.mkdir(parents=True)
        shutil.copy(tmp_path / "release" / "hw1" / "vector_add.ipynb", handed_in)
        if kernel is not None:
            work = json.loads((handed_in / "vector_add.ipynb").read_text())
            work["cells"][1]["source"] = kernel
            (handed_in / "vector_add.ipynb").write_text(json.dumps(work))
    nbgrader("autograde", "hw1", "--create")
    nbgrader("generate_feedback", "hw1")
    nbgrader("export", "--to", "grades.csv")
    with (tmp_path / "grades.csv").open() as file:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert scores == {"anna": 1.0, "bob": 0.7, "carol": 0.0}
    assert (tmp_path / "feedback" / "bob" / "hw1" / "vector_add.html").is_file()
