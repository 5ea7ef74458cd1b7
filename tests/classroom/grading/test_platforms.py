"""Platforms that run the grader: the zip for Gradescope is made, unpacked and run; nbgrader grades a course with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from classroom.grading.nbgrader_cell import points
from tests.classroom.grading.classes import VECTOR_ADD, laid_out, notebook
from tests.classroom.grading.conftest import UNMASKED
from tools import gradescope, nbgrader_course


def test_gradescope_s_autograder_writes_results(tmp_path: Path) -> None:
    gradescope.write(tmp_path / "gradescope.zip", ["vector_add"], b"a secret")
    autograder = tmp_path / "autograder"
    with zipfile.ZipFile(tmp_path / "gradescope.zip") as archive:
        archive.extractall(autograder / "source")
    course = autograder / "source" / "course"
    assert (course / "constraints.txt").is_file()
    assert not (course / "tests").exists()
    assert not (course / "notebooks").exists()
    assert "python3.11" in (autograder / "source" / "setup.sh").read_text()
    laid_out(autograder / "submission", {"work.ipynb": notebook(UNMASKED), "notes.txt": "hello"})
    run = autograder / "source" / "run_autograder"
    run.chmod(0o755)
    environment = {"AUTOGRADER": str(autograder), "PYTHON": sys.executable, "PYTHONPATH": str(course)}
    done = subprocess.run([run], env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads((autograder / "results" / "results.json").read_text())
    (test,) = document["tests"]
    assert (test["name"], test["status"], test["score"], test["max_score"]) == ("vector_add", "failed", 0.7, 1.0)
    assert "notes.txt" in document["output"]


def test_the_nbgrader_course_has_a_solution_to_clear_and_a_cell_worth_the_puzzle_s_points(tmp_path: Path) -> None:
    nbgrader_course.write(tmp_path, "hw1", [VECTOR_ADD])
    made = nbformat.read(tmp_path / "source" / "hw1" / "vector_add.ipynb", as_version=4)
    nbformat.validate(made)
    _, kernel, graded = made.cells
    begin, store, end = map(kernel.source.index, ("### BEGIN SOLUTION", "tl.store", "### END SOLUTION"))
    assert begin < store < end
    assert (graded.metadata.nbgrader.points, graded.metadata.nbgrader.locked) == (VECTOR_ADD.points, True)


def test_an_nbgrader_cell_returns_the_verdict_s_points_and_writes_nothing_to_stderr(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "work.ipynb").write_text(notebook(UNMASKED))
    assert points("vector_add", str(tmp_path / "work.ipynb")) == 0.7
    printed = capfd.readouterr()
    assert "memory" in printed.out
    assert printed.err == ""
