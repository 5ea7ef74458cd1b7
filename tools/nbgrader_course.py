"""Makes a course for nbgrader: `make nbgrader ASSIGNMENT=softmax PUZZLES="row_softmax online_softmax"`.

`source/<assignment>/<puzzle>.ipynb` has the kernel with its solution between nbgrader's marks, and a graded cell that has the
notebook judged. `nbgrader generate_assignment`, `autograde`, `generate_feedback` and `export` do the rest.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
    import nbformat

    write_atomically(course / "nbgrader_config.py", CONFIG)
    for puzzle in puzzles:
        made = nbformat.v4.new_notebook(cells=_cells(puzzle))
        write_atomically(course / "source" / assignment / f"{puzzle.name}.ipynb", nbformat.writes(made))


def _cells(puzzle: Puzzle) -> list[Any]:
    import nbformat

    text = nbformat.v4.new_markdown_cell(f"# {puzzle.title}\n\n{puzzle.statement}\n")
    kernel = nbformat.v4.new_code_cell(_with_solution((ROOT / "solutions" / f"{puzzle.name}.py").read_text("utf-8")))
    kernel.metadata["nbgrader"] = _metadata(f"{puzzle.name}-kernel", solution=True)
    call = f'from checker.grading.nbgrader_cell import points\n\npoints("{puzzle.name}", "{puzzle.name}.ipynb")'
    graded = nbformat.v4.new_code_cell(call)
    graded.metadata["nbgrader"] = _metadata(f"{puzzle.name}-points", points=puzzle.points)
    return [text, kernel, graded]


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


def _metadata(identifier: str, *, solution: bool = False, points: int | None = None) -> dict[str, Any]:
    """nbgrader's, in version 3 of its schema."""
    return {
        "schema_version": 3,
        "grade_id": identifier,
        "solution": solution,
        "grade": points is not None,
        "locked": not solution,
        "task": False,
        **({"points": points} if points is not None else {}),
    }


if __name__ == "__main__":
    sys.exit(main())
