"""What grading costs: the same notebooks graded by this project and by nbgrader.

    python -m bench.grading > reports/grading-bench.md

Processor seconds of the whole process tree per learner, its peak memory, and how many kernels get full points exactly if they are
right. nbgrader lives in an environment of its own (tools/companions.py). Processor seconds count, because other work on the
machine slows the clock.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Annotated

import nbformat
import typer
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from bench.processes import Watch
from checker.misconceptions import bank, solution
from checker.sandbox.linux import PR_SET_CHILD_SUBREAPER, prctl
from tools import companions
from tools.nbgrader_course import graded_cell

ROOT = Path(__file__).resolve().parents[1]
LADDER = ("online_softmax", "row_softmax", "chunked_softmax", "tiled_softmax")
IMPORTS = "import torch\nimport triton\nimport triton.language as tl\n"
_ROWS = "[(x.shape[0],)](x, y, x.stride(0), y.stride(0), x.shape[1], "
LAUNCH = {
    "row_softmax": _ROWS + "BLOCK_N=triton.next_power_of_2(x.shape[1]))",
    "chunked_softmax": _ROWS + "BLOCK_N=16)",
    "online_softmax": _ROWS + "BLOCK_N=16)",
    "tiled_softmax": "[(triton.cdiv(x.shape[0], 4),)](x, y, x.stride(0), y.stride(0), *x.shape, BLOCK_M=4, BLOCK_N=16)",
}
# what an instructor writes first: a usual case, the smallest, large numbers, a chunk of -inf, another dtype
INPUTS = (
    "torch.randn(5, 93)",
    "torch.randn(1, 1)",
    "torch.randn(5, 40) * 300",
    "torch.cat([torch.full((3, 16), float('-inf')), torch.randn(3, 21)], dim=1)",
    "torch.randn(4, 50).half()",
)


@dataclass(frozen=True)
class Kernel:
    """A kernel as a learner hands it in, and whether it is right."""

    text: str
    right: bool


Class = Mapping[str, Mapping[str, Kernel]]
"""By learner and puzzle."""


@dataclass(frozen=True)
class Graded:
    """Processor seconds and peak memory (PSS, MB) of grading a class, and each learner's share of a puzzle's points."""

    processor: float
    memory: float
    shares: Mapping[str, Mapping[str, float]]


# --- the notebooks ------------------------------------------------------------------------------------------------------


def handed_in(puzzles: Sequence[str], learners: int) -> Class:
    """Right and wrong kernels in turn. A comment makes each of them new to every cache."""
    kernels: dict[str, dict[str, Kernel]] = {f"learner{n:03}": {} for n in range(learners)}
    for puzzle in puzzles:
        wrong = islice(cycle(entry.source.source for entry in bank(puzzle)), learners)
        for n, (learner, mistake) in enumerate(zip(kernels, wrong, strict=True)):
            text = mistake if n % 2 else solution(puzzle)
            text = re.sub(r"^import triton.*\n", "", text, flags=re.MULTILINE).strip()
            kernels[learner][puzzle] = Kernel(f"{text}\n# {learner}", n % 2 == 0)
    return kernels


def asserts(puzzle: str) -> list[str]:
    """Five plain tests, a cell each."""
    expected = "torch.softmax(x.float(), 1)"
    return [
        f"_ = torch.manual_seed({number})\nx = {values}\ny = torch.full_like(x, float('nan'))\n"
        f"{puzzle}_kernel{LAUNCH[puzzle]}\ntorch.testing.assert_close(y.float(), {expected}, rtol=1e-3, atol=1e-3)"
        for number, values in enumerate(INPUTS)
    ]


def write_notebook(path: Path, kernels: Mapping[str, str]) -> None:
    """Write a notebook with kernels and their asserts, in nbgrader's graded cells."""
    cells: list[NotebookNode] = [new_code_cell(IMPORTS)]
    for puzzle, text in kernels.items():
        cells.append(graded_cell(f"{puzzle}-kernel", text, solution=True))
        cells += [graded_cell(f"{puzzle}-{n}", test, points=1) for n, test in enumerate(asserts(puzzle))]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path.parent.mkdir(parents=True)
    path.write_text(nbformat.writes(new_notebook(cells=cells, metadata={"kernelspec": kernel})))


# --- the graders --------------------------------------------------------------------------------------------------------


def by_this_project(folder: Path, learners: Class) -> Graded:
    """``classroom all``: collect, judge, score and report, in full isolation."""
    for learner, kernels in learners.items():
        write_notebook(folder / "class" / learner / "softmax.ipynb", {p: k.text for p, k in kernels.items()})
    puzzles = [word for puzzle in next(iter(learners.values())) for word in ("--puzzle", puzzle)]
    command = [sys.executable, "-m", "classroom", "all", "class", "-o", "run", *puzzles]
    processor, memory = measured(command, folder, {"PYTHONPATH": str(ROOT)})
    rows = json.loads((folder / "run" / "results.json").read_text())["submissions"]
    return Graded(
        processor,
        memory,
        {r["learner"]["id"]: {p["puzzle"]: p["score"] / p["max_score"] for p in r["puzzles"]} for r in rows},
    )


_POINTS = """
import json
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    print(json.dumps({s.student.id: {g.cell.name: g.score for n in s.notebooks for g in n.grades} for s in book.assignment_submissions("hw")}))
"""


def by_nbgrader(folder: Path, learners: Class) -> Graded:
    """``nbgrader autograde``, one process for all."""
    python = companions.install("nbgrader")
    if python is None:
        raise RuntimeError("nbgrader could not be fetched")
    puzzles = list(next(iter(learners.values())))
    write_notebook(folder / "source" / "hw" / "softmax.ipynb", {puzzle: solution(puzzle) for puzzle in puzzles})
    for learner, kernels in learners.items():
        write_notebook(folder / "submitted" / learner / "hw" / "softmax.ipynb", {p: k.text for p, k in kernels.items()})
    nbgrader, variables = [str(python), "-m", "nbgrader"], {"TRITON_INTERPRET": "1"}
    measured([*nbgrader, "generate_assignment", "hw", "--create"], folder, variables)
    # a kernel that ends its process ends nbgrader with 1
    processor, memory = measured([*nbgrader, "autograde", "hw", "--create"], folder, variables, may_fail=True)
    scores = json.loads(subprocess.check_output([python, "-c", _POINTS], cwd=folder, text=True))
    shares = {
        learner: {p: sum(points for name, points in cells.items() if name.startswith(p)) / len(INPUTS) for p in puzzles}
        for learner, cells in scores.items()
    }
    return Graded(processor, memory, shares)


def measured(
    command: Sequence[str], folder: Path, variables: Mapping[str, str], may_fail: bool = False
) -> tuple[float, float]:
    """Processor seconds and peak memory of a command and all its children. Raises RuntimeError if it fails."""
    environment = {"PATH": f"{Path(command[0]).parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    environment |= {"OMP_NUM_THREADS": "1", "JUPYTER_PLATFORM_DIRS": "1", "LANG": "C.UTF-8", **variables}
    before, log = sum(getrusage(RUSAGE_CHILDREN)[:2]), folder / "command.log"
    with log.open("wb") as file:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=file, stderr=file)
        with Watch(process.pid) as watch:
            process.wait()
    if process.returncode and not may_fail:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{log.read_text()[-2000:]}")
    try:
        while True:  # orphans come to this process; once they are waited for, their seconds count too
            os.waitpid(-1, 0)
    except ChildProcessError:
        return sum(getrusage(RUSAGE_CHILDREN)[:2]) - before, watch.peak


# --- the report ---------------------------------------------------------------------------------------------------------

INTRODUCTION = """# What grading a class costs

Made by `python -m bench.grading`. Processor seconds of the whole process tree, start included, and its peak memory (PSS).
Both graders get the same notebooks, in which half of the kernels are wrong. nbgrader runs five plain asserts per puzzle in
Triton's interpreter, without isolation. This project runs its own cases, compiles for four GPUs, explains failures and
writes a page for each learner, inside its sandbox. A kernel is judged rightly if it gets full points exactly if it is right."""


def table(learners: Class, ours: Graded, theirs: Graded) -> str:
    kernels = [(learner, puzzle, k.right) for learner, mine in learners.items() for puzzle, k in mine.items()]

    def judged_rightly(graded: Graded) -> int:
        return sum((graded.shares.get(learner, {}).get(puzzle) == 1) == right for learner, puzzle, right in kernels)

    both = (ours, theirs)
    rows = [
        ["", "this project", "nbgrader"],
        ["---"] * 3,
        ["processor s a learner", *(f"{graded.processor / len(learners):.2f}" for graded in both)],
        ["peak memory", *(f"{graded.memory:.0f} MB" for graded in both)],
        ["judged rightly", *(f"{judged_rightly(graded)} of {len(kernels)}" for graded in both)],
    ]
    heading = f"## {len(learners)} notebooks with {len(kernels) // len(learners)} kernels each"
    return "\n".join([heading, "", *("| " + " | ".join(row) + " |" for row in rows)])


def main(
    puzzles: Annotated[list[int], typer.Option(help="puzzles in a notebook; can be repeated")] = [1, 4],  # noqa: B006
    learners: int = 12,
) -> None:
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    print(INTRODUCTION)
    for count in puzzles:
        handed = handed_in(LADDER[:count], learners)
        with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as there:
            print(
                f"\n{table(handed, by_this_project(Path(here), handed), by_nbgrader(Path(there), handed))}", flush=True
            )


if __name__ == "__main__":
    typer.run(main)
