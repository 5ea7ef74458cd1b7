"""What grading costs: the same notebooks graded by this project and by nbgrader.

    python -m bench.grading [--puzzles 1 4] [--learners 12 4] [--write]

Prints, and with `--write` keeps in reports/grading-bench.{json,md}: processor seconds of the whole process tree per learner, its
peak memory, the points for right and for wrong kernels, and the cost of grading a kernel again. nbgrader lives in an environment
of its own (tools/companions.py). Processor seconds count, because other work on the machine slows the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from bench.processes import Watch
from checker.misconceptions import bank, solution
from checker.sandbox.linux import PR_SET_CHILD_SUBREAPER, prctl
from tools import companions
from tools.nbgrader_course import graded_cell

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "reports" / "grading-bench"
OURS, RIVAL = "this project", "nbgrader"
GRADERS = (OURS, RIVAL)
LADDER = ("row_softmax", "chunked_softmax", "online_softmax", "tiled_softmax")
ONE = ("online_softmax",)
WRONG = (
    "sum_not_rescaled",
    "no_max_subtraction",
    "max_starts_at_zero",
    "inf_minus_inf",
    "store_unmasked",
    "n_for_the_stride",
)

IMPORTS = "import torch\nimport triton\nimport triton.language as tl\n"
_ROWS = "[(x.shape[0],)](x, y, x.stride(0), y.stride(0), x.shape[1], "
LAUNCH = {
    "row_softmax": _ROWS + "BLOCK_N=triton.next_power_of_2(x.shape[1]))",
    "chunked_softmax": _ROWS + "BLOCK_N=16)",
    "online_softmax": _ROWS + "BLOCK_N=16)",
    "tiled_softmax": "[(triton.cdiv(x.shape[0], 4),)](x, y, x.stride(0), y.stride(0), *x.shape, BLOCK_M=4, BLOCK_N=16)",
}
# What an instructor writes first: a usual case, the smallest, large numbers, a chunk of -inf, another dtype.
INPUTS = (
    "torch.randn(5, 93)",
    "torch.randn(1, 1)",
    "torch.randn(5, 40) * 300",
    "torch.cat([torch.full((3, 16), float('-inf')), torch.randn(3, 21)], dim=1)",
    "torch.randn(4, 50).half()",
)


# ------------------------------------------------------------------------------------------------------- the notebooks


@dataclass(frozen=True)
class HandedIn:
    """One learner's notebook: the name and the text of a kernel for each puzzle."""

    learner: str
    kernels: Mapping[str, str]
    sources: Mapping[str, str]


def submissions(puzzles: Sequence[str], count: int) -> list[HandedIn]:
    """Half of the kernels are right and half are wrong; all differ as long as the bank has enough."""
    drawn = {puzzle: list(islice(cycle(_mixed(puzzle)), count)) for puzzle in puzzles}
    made = []
    for number in range(count):
        mine = {puzzle: drawn[puzzle][number] for puzzle in puzzles}
        kernels, sources = {p: name for p, (name, _) in mine.items()}, {p: text for p, (_, text) in mine.items()}
        made.append(HandedIn(f"learner{number:03}", kernels, sources))
    return made


def _mixed(puzzle: str) -> list[tuple[str, str]]:
    """Right and wrong kernels in turn: the solution under other names of variables, and the bank."""
    known = {wrong.name: wrong.source.source for wrong in bank(puzzle)}
    names = [*(name for name in WRONG if name in known), *(name for name in known if name not in WRONG)]
    pairs = []
    for number, name in enumerate(names):
        pairs += [(f"solution {number}", _renamed(solution(puzzle), number)), (name, known[name])]
    return pairs


def _renamed(source: str, number: int) -> str:
    """Names that are assigned in the body get the number at their end."""
    names = set(re.findall(r"^ +(\w+)(?: = | \+= |, \w+ = )", source, re.MULTILINE))
    pattern = re.compile(r"(?<![\w.])(" + "|".join(sorted(names)) + r")(?!\w)(?! *=[^= ])")
    return pattern.sub(rf"\1_{number}", source) if names else source


def asserts(puzzle: str) -> list[str]:
    """Five plain tests, a cell each."""
    made = []
    for number, values in enumerate(INPUTS):
        lines = [
            f"_ = torch.manual_seed({number})",
            f"x = {values}",
            "y = torch.full_like(x, float('nan'))",
            f"{puzzle}_kernel{LAUNCH[puzzle]}",
            "torch.testing.assert_close(y.float(), torch.softmax(x.float(), 1), rtol=1e-3, atol=1e-3)",
        ]
        made.append("\n".join(lines))
    return made


def without_imports(source: str) -> str:
    return re.sub(r"^import triton.*\n", "", source, flags=re.MULTILINE).strip()


# ------------------------------------------------------------------------------------------------ what a run has cost


@dataclass(frozen=True)
class Cost:
    """The cost of a whole process tree: processor seconds, seconds by the clock, and peak memory (PSS, MB)."""

    processor: float
    clock: float
    memory: float


def measured(command: Sequence[str], folder: Path, environment: Mapping[str, str], *, may_crash: bool = False) -> Cost:
    """Run a command. Raises RuntimeError if it does not end with 0, unless a kernel may crash it."""
    began, before, log_file = time.perf_counter(), _spent(), folder / "command.log"
    with log_file.open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=dict(environment), stdout=log, stderr=log)
        with Watch([process.pid]) as watch:
            process.wait()
    if process.returncode and not may_crash:
        output = log_file.read_text(errors="replace")[-2000:]
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{output}")
    _reap()
    return Cost(_spent() - before, time.perf_counter() - began, watch.peak)


def _spent() -> float:
    return sum(getrusage(RUSAGE_CHILDREN)[:2])


def _reap() -> None:
    """Wait for orphans, which come to this process, so that their seconds count too."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


# --------------------------------------------------------------------------------------------------------- the graders


def environment(python: Path, home: Path) -> dict[str, str]:
    return {
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "OMP_NUM_THREADS": "1",
        "JUPYTER_PLATFORM_DIRS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
    }


class ThisProject:
    """``classroom all``: collect, judge, score and report, in full isolation."""

    name = OURS

    def __init__(self, folder: Path, puzzles: Sequence[str]) -> None:
        self.folder, self.puzzles, self.python = folder, puzzles, Path(sys.executable)
        self.environment = environment(self.python, folder) | {"PYTHONPATH": str(ROOT)}
        self.environment.pop("PYTHONDONTWRITEBYTECODE")

    def hand_in(self, handed_in: Sequence[HandedIn]) -> None:
        shutil.rmtree(self.folder / "class", ignore_errors=True)
        for learner in handed_in:
            cells = [IMPORTS]
            for puzzle in self.puzzles:
                cells += [without_imports(learner.sources[puzzle]), *asserts(puzzle)]
            place = self.folder / "class" / learner.learner
            place.mkdir(parents=True)
            (place / "softmax.ipynb").write_text(notebook(cells))

    def grade(self, handed_in: Sequence[HandedIn], *, again: bool = False) -> Cost:
        if not again:
            shutil.rmtree(self.folder / "run", ignore_errors=True)
        wanted = [word for puzzle in self.puzzles for word in ("--puzzle", puzzle)]
        command = [str(self.python), "-m", "classroom", "all", "class", "-o", "run", *wanted]
        return measured(command, self.folder, self.environment)

    def points(self, handed_in: Sequence[HandedIn]) -> dict[str, dict[str, float]]:
        results = json.loads((self.folder / "run" / "results.json").read_text())
        return {
            row["learner"]["id"]: {p["puzzle"]: p["score"] / p["max_score"] for p in row["puzzles"]}
            for row in results["submissions"]
        }


class Nbgrader:
    """``nbgrader generate_assignment``, then ``nbgrader autograde``, one process for all."""

    name = "nbgrader"

    def __init__(self, folder: Path, puzzles: Sequence[str]) -> None:
        self.folder, self.puzzles, self.python = folder, puzzles, companions.install("nbgrader")
        if self.python is None:
            raise RuntimeError("nbgrader could not be fetched")
        self.environment = environment(self.python, folder) | {"TRITON_INTERPRET": "1"}
        source = folder / "source" / "hw"
        source.mkdir(parents=True)
        (source / "softmax.ipynb").write_text(self._notebook({p: solution(p) for p in puzzles}))
        self._run("generate_assignment", "hw", "--create")

    def _run(self, *arguments: str) -> None:
        command = [str(self.python), "-m", "nbgrader", *arguments]
        subprocess.run(command, cwd=self.folder, env=self.environment, check=True, capture_output=True)

    def _notebook(self, sources: Mapping[str, str]) -> str:
        cells: list[str | NotebookNode] = [IMPORTS]
        for puzzle in self.puzzles:
            cells.append(graded_cell(f"{puzzle}-kernel", without_imports(sources[puzzle]), solution=True))
            cells += [graded_cell(f"{puzzle}-{n}", test, points=1) for n, test in enumerate(asserts(puzzle))]
        return notebook(cells)

    def hand_in(self, handed_in: Sequence[HandedIn]) -> None:
        shutil.rmtree(self.folder / "submitted", ignore_errors=True)
        for learner in handed_in:
            place = self.folder / "submitted" / learner.learner / "hw"
            place.mkdir(parents=True)
            (place / "softmax.ipynb").write_text(self._notebook(learner.sources))

    def grade(self, handed_in: Sequence[HandedIn]) -> Cost:
        shutil.rmtree(self.folder / "autograded", ignore_errors=True)
        command = [str(self.python), "-m", "nbgrader", "autograde", "hw", "--create", "--force"]
        # a kernel that ends its process ends nbgrader with 1; whoever got no points is shown as "no result"
        return measured(command, self.folder, self.environment, may_crash=True)

    def points(self, handed_in: Sequence[HandedIn]) -> dict[str, dict[str, float]]:
        look = """
import json
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    print(json.dumps({s.student.id: {g.cell.name: g.score for n in s.notebooks for g in n.grades} for s in book.assignment_submissions("hw")}))
"""
        scores = subprocess.check_output([self.python, "-c", look], cwd=self.folder, env=self.environment, text=True)
        return {
            student: {p: sum(v for cell, v in cells.items() if cell.startswith(p)) / len(INPUTS) for p in self.puzzles}
            for student, cells in json.loads(scores).items()
        }


def notebook(cells: Sequence[str | NotebookNode]) -> str:
    """`cells` are cells, or the text of one with code."""
    made = [new_code_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.writes(new_notebook(cells=made, metadata={"kernelspec": kernel}))


# ------------------------------------------------------------------------------------------------------ the comparison


@dataclass(frozen=True)
class Given:
    """The share of its points that a kernel got from each grader; None without a result."""

    puzzle: str
    kernel: str
    right: bool
    shares: Mapping[str, float | None]


@dataclass(frozen=True)
class Comparison:
    """Notebooks with the same puzzles, graded by both; `again` is our cost when nothing has changed."""

    puzzles: Sequence[str]
    learners: int
    costs: Mapping[str, Cost]
    given: Sequence[Given]
    again: Cost


def compare(puzzles: Sequence[str], learners: int, place: Path) -> Comparison:
    handed_in = submissions(puzzles, learners)
    costs, points = {}, {}
    graders: list[ThisProject | Nbgrader] = []
    for make in (ThisProject, Nbgrader):
        folder = place / f"{make.name.replace(' ', '-')}-{len(puzzles)}"
        folder.mkdir(parents=True)
        grader = make(folder, puzzles)
        grader.hand_in(handed_in)
        costs[grader.name] = grader.grade(handed_in)
        points[grader.name] = grader.points(handed_in)
        graders.append(grader)
        print(f"  {grader.name:13}{costs[grader.name].processor / learners:7.2f} s a learner", flush=True)
    ours = graders[0]
    assert isinstance(ours, ThisProject)
    again = ours.grade(handed_in, again=True)
    return Comparison(puzzles, learners, costs, _given(handed_in, points), again)


def _given(handed_in: Sequence[HandedIn], points: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[Given]:
    return [
        Given(
            puzzle,
            kernel,
            kernel.startswith("solution "),
            {grader: points[grader].get(learner.learner, {}).get(puzzle) for grader in GRADERS},
        )
        for learner in handed_in
        for puzzle, kernel in learner.kernels.items()
    ]


# ---------------------------------------------------------------------------------------------------------- the report


def table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rest])


def page(comparisons: Sequence[Comparison]) -> str:
    parts = ["# What grading a class costs", textwrap.fill(_WORDS, 120)]
    for each in comparisons:
        parts += [_costs(each), _points(each)]
    return "\n\n".join(parts) + "\n"


_WORDS = (
    "Made by `python -m bench.grading --write`. Processor seconds of the whole process tree, start included, and its peak memory "
    "(PSS). Both graders get the same notebooks, in which half of the kernels are wrong. nbgrader runs five plain "
    "asserts per puzzle in Triton's interpreter, without isolation. This project runs its own cases, compiles for four GPUs, "
    "explains failures and writes a page for each learner, inside its sandbox."
)


def _costs(each: Comparison) -> str:
    many = f"{len(each.puzzles)} puzzles" if len(each.puzzles) > 1 else "one puzzle"
    seconds = {grader: each.costs[grader].processor / each.learners for grader in GRADERS}
    rows = [
        ["", *GRADERS],
        ["processor s a learner", *(f"{seconds[grader]:.2f}" for grader in GRADERS)],
        ["peak memory", *(f"{each.costs[grader].memory:.0f} MB" for grader in GRADERS)],
    ]
    again = each.again.processor / each.learners
    repeated = f"Graded again with nothing changed: {again:.2f} s a learner. nbgrader repeats all of its work."
    return f"## Notebooks with {many}, {each.learners} learners\n\n{table(rows)}\n\n{repeated}"


def _points(each: Comparison) -> str:
    rows = [["puzzle", "kernel", "is", *GRADERS]]
    for given in each.given:
        shares = ["no result" if s is None else f"{100 * s:.0f} %" for s in (given.shares[g] for g in GRADERS)]
        rows.append([given.puzzle, given.kernel, "right" if given.right else "wrong", *shares])
    right = {g: sum((x.shares[g] == 1) == x.right for x in each.given) for g in GRADERS}
    rows.append(["", "right and wrong kept apart", "", *(f"{right[g]} of {len(each.given)}" for g in GRADERS)])
    return "Points given:\n\n" + table(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--puzzles", nargs="*", type=int, choices=(1, 4), default=[1, 4], help="puzzles per notebook")
    parser.add_argument("--learners", nargs="*", type=int, default=[12, 4], help="learners, for each of --puzzles")
    parser.add_argument("--write", action="store_true", help=f"keep in {REPORT.relative_to(ROOT)}.json and .md")
    options = parser.parse_args(arguments)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    with tempfile.TemporaryDirectory(prefix="grading-bench-") as folder:
        comparisons = [
            compare(LADDER if count == 4 else ONE, learners, Path(folder))
            for count, learners in zip(options.puzzles, options.learners, strict=False)
        ]
    print(page(comparisons))
    if options.write:
        REPORT.with_suffix(".json").write_text(json.dumps([asdict(each) for each in comparisons], indent=1) + "\n")
        REPORT.with_suffix(".md").write_text(page(comparisons))


if __name__ == "__main__":
    main()
