"""Makes a course for nbgrader: `make nbgrader ASSIGNMENT=softmax PUZZLES="row_softmax online_softmax"`.

`source/<assignment>/<puzzle>.ipynb` has the kernel with its solution between nbgrader's marks, and a graded cell that has the
notebook judged. `nbgrader generate_assignment`, `autograde`, `generate_feedback` and `export` do the rest.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from checker.course import PUZZLES  # noqa: E402
from checker.puzzle import Puzzle  # noqa: E402
from checker.submission.marked_region import END, START  # noqa: E402
from checker.workspace import write_atomically  # noqa: E402

CONFIG = """c = get_config()
c.CourseDirectory.course_id = "tile-by-tile"
c.ClearSolutions.code_stub = {"python": "pass"}
c.ExecutePreprocessor.timeout = 900  # a verdict on a busy machine
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("puzzles", nargs="+", metavar="PUZZLE", help="the puzzles of the assignment")
    parser.add_argument("--assignment", default="tile-by-tile", help="what nbgrader calls it")
    parser.add_argument(
        "-o", "--output", default="nbgrader-course", help="the course's folder (default: nbgrader-course)"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.puzzles if name not in PUZZLES]
    if unknown:
        parser.error(f"there is no puzzle called {', '.join(unknown)}; there are {', '.join(PUZZLES)}")
    write(Path(options.output), options.assignment, [PUZZLES[name] for name in options.puzzles])
    print(f"cd {options.output} && nbgrader generate_assignment {options.assignment} --create")
    return 0


def write(course: Path, assignment: str, puzzles: Sequence[Puzzle]) -> None:
    """Write the course, over an older one of the same name. Raises OSError."""
    write_atomically(course / "nbgrader_config.py", CONFIG)
    for puzzle in puzzles:
        made = new_notebook(cells=_cells(puzzle))
        write_atomically(course / "source" / assignment / f"{puzzle.name}.ipynb", nbformat.writes(made))


def _cells(puzzle: Puzzle) -> list[NotebookNode]:
    text = new_markdown_cell(f"# {puzzle.title}\n\n{puzzle.statement}\n")
    kernel = _with_solution((ROOT / "solutions" / f"{puzzle.name}.py").read_text("utf-8"))
    call = f'from classroom.grading.nbgrader_cell import points\n\npoints("{puzzle.name}", "{puzzle.name}.ipynb")'
    return [
        text,
        graded_cell(f"{puzzle.name}-kernel", kernel, solution=True),
        graded_cell(f"{puzzle.name}-points", call, points=puzzle.points),
    ]


def _with_solution(text: str) -> str:
    """The kernel with the learner's region between nbgrader's marks; the course's own marks stay."""
    lines = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        if line.strip().startswith(END):
            lines.append(f"{indent}### END SOLUTION")
        lines.append(line)
        if line.strip().startswith(START):
            lines.append(f"{indent}### BEGIN SOLUTION")
    return "\n".join(lines) + "\n"


def graded_cell(identifier: str, code: str, *, solution: bool = False, points: int | None = None) -> NotebookNode:
    """A cell of code with what nbgrader has to know of it, in version 3 of its schema."""
    known = {"schema_version": 3, "grade_id": identifier, "solution": solution, "grade": points is not None}
    known |= {"locked": not solution, "task": False}
    known |= {} if points is None else {"points": points}
    return new_code_cell(code, metadata={"nbgrader": known})


if __name__ == "__main__":
    sys.exit(main())
