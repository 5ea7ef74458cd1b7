"""One submission where a platform runs the grader: the zip for Gradescope is made, unpacked and run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from classroom import cli
from tests.classroom.grading.classes import laid_out, notebook
from tests.classroom.grading.conftest import UNMASKED
from tools import gradescope


@pytest.fixture
def autograder(tmp_path: Path) -> Path:
    """Gradescope's folders, with the autograder unpacked as Gradescope does it."""
    gradescope.write(tmp_path / "gradescope.zip", ["vector_add"], b"a secret")
    with zipfile.ZipFile(tmp_path / "gradescope.zip") as archive:
        archive.extractall(tmp_path / "autograder" / "source")
    (tmp_path / "autograder" / "source" / "run_autograder").chmod(0o755)
    return tmp_path / "autograder"


def test_gradescope_s_autograder_writes_results(autograder: Path) -> None:
    laid_out(autograder / "submission", {"work.ipynb": notebook(UNMASKED), "notes.txt": "hello"})
    run = subprocess.run(
        [autograder / "source" / "run_autograder"],
        env={
            **os.environ,
            "AUTOGRADER": str(autograder),
            "PYTHON": sys.executable,
            "PYTHONPATH": str(autograder / "source/course"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    document = json.loads((autograder / "results" / "results.json").read_text())
    (test,) = document["tests"]
    assert (test["name"], test["status"], test["score"], test["max_score"]) == ("vector_add", "failed", 0.7, 1.0)
    assert "notes.txt" in document["output"]


def test_the_zip_holds_the_grader_and_no_tests_or_notebooks(autograder: Path) -> None:
    course = autograder / "source" / "course"
    assert (course / "checker" / "cli.py").is_file()
    assert (course / "constraints.txt").is_file()
    assert not (course / "tests").exists()
    assert not (course / "notebooks").exists()
    assert "python3.11" in (autograder / "source" / "setup.sh").read_text()


def test_one_asks_for_the_puzzles_of_the_assignment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["one", str(tmp_path)]) == 2
    assert "needs the puzzles" in capsys.readouterr().err
