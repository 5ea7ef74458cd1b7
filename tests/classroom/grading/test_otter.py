"""`final_grades.csv` beside the file that otter-grader itself writes of the same points."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import pytest

from checker.course import PUZZLES
from classroom.grading.gradebook import otter_csv
from classroom.grading.policy import Policy
from classroom.grading.score import score
from tests.classroom.grading.classes import CPU, VECTOR_ADD, run_folder
from tests.classroom.grading.conftest import RIGHT, UNMASKED
from tests.classroom.grading.test_scores import facts, keep
from tools.companions import python_of

WRITE = """
import json, sys
from otter.grade.utils import merge_scores_to_df
from otter.test_files import GradingResults

found = []
for file, questions in json.load(sys.stdin).items():
    told = [
        {"filename": f"{name}.py", "points": [most], "test_case_results": [{"error": "", "passed": True, "test_case": {
            "name": name, "code": "", "hidden": False, "points": most, "success_message": "", "failure_message": ""}}]}
        for name, (_, most) in questions.items()
    ]
    results = GradingResults.from_ottr_json(json.dumps({"test_file_results": told}))
    for name, (points, _) in questions.items():
        results.results[name].update_score(points)
    results.file = file
    found.append(results)
merge_scores_to_df(found).to_csv(sys.stdout, index=False)
"""


def rows(text: str) -> list[list[object]]:
    """Cells, numbers as numbers: pandas writes 1.0 where we write 1."""

    def cell(word: str) -> object:
        try:
            return float(word)
        except ValueError:
            return word

    return [[cell(word) for word in row] for row in csv.reader(io.StringIO(text))]


@pytest.mark.exhaustive
def test_otter_writes_the_same_of_the_same_points(tmp_path: Path) -> None:
    python = python_of("otter")
    if python is None:
        pytest.skip("there is no otter-grader: ITS FILE IS NOT COMPARED WITH OURS (tools/companions.py fetches it)")
    folder = run_folder(tmp_path, {"bob.py": UNMASKED, "anna.py": RIGHT})
    keep(folder, facts(None), facts("values", right=10))
    result = score(folder, [VECTOR_ADD, PUZZLES["row_softmax"]], Policy(), CPU)
    possible = {puzzle.puzzle: puzzle.points for puzzle in result.puzzles}
    earned = {
        f"{learner.person.id}/{learner.files[0].file}": {
            p.puzzle: (p.score, possible[p.puzzle]) for p in learner.puzzles
        }
        for learner in result.learners
    }
    done = subprocess.run([python, "-c", WRITE], input=json.dumps(earned), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = rows(otter_csv(result))
    assert told == rows(done.stdout)
    assert [row[0] for row in told[2:]] == sorted(earned)
    assert {row[3] for row in told[2:]} == {1.0, 0.35}
