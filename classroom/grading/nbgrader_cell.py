"""What a graded cell of an nbgrader notebook calls: the points of a puzzle, judged in another process from the notebook's file.

nbgrader takes a number that a cell returns as partial credit, and gives 0 to a cell that writes to stderr. The cell runs in the
learner's own kernel, as all of nbgrader's tests do, so its number is only as good as that; ``classroom collect submitted/`` is not.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from checker.api.grading import course_on_path


def points(puzzle: str, notebook: str) -> float:
    """The points of `puzzle` in the file `notebook`, which has to be saved. Raises RuntimeError where it could not be judged."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "results.json"
        command = [sys.executable, "-P", "-m", "classroom", "one", notebook, "--puzzle", puzzle]
        done = subprocess.run(
            [*command, "--gradescope", str(target)], env=course_on_path(), capture_output=True, text=True, check=False
        )
        if not target.is_file():
            raise RuntimeError(f"{puzzle} could not be judged: {done.stderr.strip()[-500:]}")
        (test,) = json.loads(target.read_text("utf-8"))["tests"]
    print(test["output"])
    return float(test["score"])
