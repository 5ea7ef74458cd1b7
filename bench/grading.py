"""What grading costs: the same notebooks graded by this project, by otter-grader and by nbgrader, turn by turn.

    python bench/grading.py [--puzzles 1 4] [--rounds 2] [--learners 12 4] [--class-sizes 30 60] [--write]

Prints, and with `--write` keeps in reports/grading-bench.{json,md}: processor seconds of the whole process tree for a learner, its
peak memory, what each grader gave to right and to wrong kernels, what a kernel costs that is handed in again or graded again, and
how time and memory grow with a class. The others live in environments of their own (tools/companions.py); torch and Triton
are the course's. Processor seconds and not the clock, and ratios within a round: other work on the machine slows all alike.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import msgspec  # noqa: E402
import nbformat  # noqa: E402
from nbformat import NotebookNode  # noqa: E402
from nbformat.v4 import new_code_cell, new_notebook, new_raw_cell  # noqa: E402

from bench.processes import Watch  # noqa: E402
from checker.misconceptions import bank, solution  # noqa: E402
from checker.sandbox.linux import PR_SET_CHILD_SUBREAPER, prctl  # noqa: E402
from tests.misconceptions.kernels import correct  # noqa: E402
from tools import companions  # noqa: E402
from tools.nbgrader_course import graded_cell  # noqa: E402

REPORT = ROOT / "reports" / "grading-bench"
OURS, GRADERS = "this project", ("this project", "otter", "nbgrader")
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
# What one writes first: a usual case, the smallest, large numbers, a chunk of -inf, another dtype.
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
    """One learner's notebook: a kernel for each puzzle, by the name that it has in the bank or among the right ones."""

    learner: str
    kernels: Mapping[str, str]
    sources: Mapping[str, str]


def submissions(puzzles: Sequence[str], count: int) -> list[HandedIn]:
    """Of each puzzle half right, half wrong, in turn; all different as long as there are enough."""
    drawn = {puzzle: list(islice(cycle(_mixed(puzzle)), count)) for puzzle in puzzles}
    made = []
    for number in range(count):
        mine = {puzzle: drawn[puzzle][number] for puzzle in puzzles}
        kernels, sources = {p: name for p, (name, _) in mine.items()}, {p: text for p, (_, text) in mine.items()}
        made.append(HandedIn(f"learner{number:03}", kernels, sources))
    return made


def _mixed(puzzle: str) -> list[tuple[str, str]]:
    right = [("solution", solution(puzzle)), *((name, k.source) for name, k in correct(puzzle).items())]
    known = {wrong.name: wrong.source.source for wrong in bank(puzzle)}
    names = [name for name in WRONG if name in known]
    names += [name for name in known if name not in names]
    wrong = [(name, known[name]) for name in names]
    return [kernel for pair in zip(right, wrong, strict=False) for kernel in pair]


def different(puzzles: Sequence[str], count: int) -> list[HandedIn]:
    """A class in which no kernel is like another: variables are renamed for each learner."""
    made = []
    for number, learner in enumerate(submissions(puzzles, count)):
        renamed = {puzzle: _renamed(text, number) for puzzle, text in learner.sources.items()}
        made.append(replace(learner, sources=renamed))
    return made


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
            f"_ = torch.manual_seed({number})",  # otter compares what is printed
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
    """Of a whole process tree: processor seconds, seconds by the clock, the largest sum of its resident memory (PSS) in MB."""

    processor: float
    clock: float
    memory: float


def measured(
    commands: Sequence[Sequence[str]], folder: Path, environment: Mapping[str, str], *, may_crash: bool = False
) -> Cost:
    """Run the commands one after another. Raises RuntimeError where one does not end with 0, unless a kernel may crash it."""
    began, before, peak = time.perf_counter(), _spent(), 0.0
    for number, command in enumerate(commands):
        log_file = folder / f"command-{number}.log"
        with log_file.open("ab") as log:
            process = subprocess.Popen(command, cwd=folder, env=dict(environment), stdout=log, stderr=log)
            with Watch([process.pid]) as watch:
                process.wait()
        peak = max(peak, watch.peak)
        if process.returncode and not may_crash:
            said = log_file.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{said}")
    _reap()
    return Cost(_spent() - before, time.perf_counter() - began, peak)


def _spent() -> float:
    return sum(getrusage(RUSAGE_CHILDREN)[:2])


def _reap() -> None:
    """Orphans come to this process, which is their subreaper, and so their seconds count too."""
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


def install(name: str) -> Path:
    """The Python of the rival's environment. Raises RuntimeError where it cannot be fetched."""
    python = companions.install(name)
    if python is None:
        raise RuntimeError(f"{companions.COMPANIONS[name].package} could not be fetched")
    return python


class ThisProject:
    """``grade all``: collect, judge, score, report, all isolation on."""

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
        grade = [str(self.python), "-m", "checker", "grade"]
        wanted = [word for puzzle in self.puzzles for word in ("--puzzle", puzzle)]
        return measured([[*grade, "all", "class", "-o", "run", *wanted]], self.folder, self.environment)

    def points(self, handed_in: Sequence[HandedIn]) -> dict[str, dict[str, float]]:
        results = json.loads((self.folder / "run" / "results.json").read_text())
        return {
            row["person"]["id"]: {p["puzzle"]: p["score"] / p["max_score"] for p in row["puzzles"]}
            for row in results["learners"]
        }


class Otter:
    """``otter assign`` makes the autograder, ``otter run`` grades each notebook in a process of its own."""

    name = "otter"

    def __init__(self, folder: Path, puzzles: Sequence[str]) -> None:
        self.folder, self.puzzles = folder, puzzles
        python = install("otter")
        self.program = python.with_name("otter")
        self.environment = environment(python, folder) | {"TRITON_INTERPRET": "1"}
        (folder / "master.ipynb").write_text(self._master())
        command = [str(self.program), "assign", "master.ipynb", "dist", "--no-run-tests", "--no-pdfs"]
        subprocess.run(command, cwd=folder, env=self.environment, check=True, capture_output=True)
        (self.autograder,) = (folder / "dist" / "autograder").glob("*.zip")

    def _master(self) -> str:
        raw = new_raw_cell
        cells: list[str | NotebookNode] = [raw("# ASSIGNMENT CONFIG\nexport_cell: false"), IMPORTS]
        for puzzle in self.puzzles:
            kernel = without_imports(solution(puzzle)) + " # SOLUTION"
            cells += [raw(f"# BEGIN QUESTION\nname: {puzzle}\npoints: {len(INPUTS)}"), raw("# BEGIN SOLUTION"), kernel]
            cells += [raw("# END SOLUTION"), raw("# BEGIN TESTS"), *asserts(puzzle)]
            cells += [raw("# END TESTS"), raw("# END QUESTION")]
        return notebook(cells)

    def hand_in(self, handed_in: Sequence[HandedIn]) -> None:
        for learner in handed_in:
            cells = [IMPORTS, *(without_imports(learner.sources[puzzle]) for puzzle in self.puzzles)]
            (self.folder / f"{learner.learner}.ipynb").write_text(notebook(cells))

    def grade(self, handed_in: Sequence[HandedIn]) -> Cost:
        for learner in handed_in:
            shutil.rmtree(self.folder / "results" / learner.learner, ignore_errors=True)
            (self.folder / "results" / learner.learner).mkdir(parents=True)
        run = [str(self.program), "run", "--no-logo", "-a", str(self.autograder)]
        commands = [[*run, "-o", f"results/{each.learner}", f"{each.learner}.ipynb"] for each in handed_in]
        return measured(commands, self.folder, self.environment, may_crash=True)

    def points(self, handed_in: Sequence[HandedIn]) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = {}
        for learner in handed_in:
            path = self.folder / "results" / learner.learner / "results.json"
            tests = json.loads(path.read_text())["tests"] if path.is_file() else []
            for test in tests:
                puzzle = next((p for p in self.puzzles if p in test["name"]), None)
                if puzzle is not None and test.get("max_score"):
                    found.setdefault(learner.learner, {})[puzzle] = test["score"] / test["max_score"]
        return found


class Nbgrader:
    """``nbgrader generate_assignment``, then ``nbgrader autograde``, one process for all."""

    name = "nbgrader"

    def __init__(self, folder: Path, puzzles: Sequence[str]) -> None:
        self.folder, self.puzzles, self.python = folder, puzzles, install("nbgrader")
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
        return measured([command], self.folder, self.environment, may_crash=True)

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
class Round:
    """One turn of each grader over the same notebooks: what it cost."""

    costs: Mapping[str, Cost]

    def ratio(self, grader: str) -> float:
        return self.costs[grader].processor / self.costs[OURS].processor


@dataclass(frozen=True)
class Given:
    """What each grader gave a kernel, as a share of its points; None where it gave no result."""

    puzzle: str
    kernel: str
    right: bool
    shares: Mapping[str, float | None]


@dataclass(frozen=True)
class Compared:
    """Notebooks with so many puzzles, graded by all."""

    puzzles: tuple[str, ...]
    learners: int
    rounds: list[Round]
    given: list[Given]
    again: Cost
    doubled: Cost

    def ratio(self, grader: str) -> float:
        return statistics.median(r.ratio(grader) for r in self.rounds)

    def each(self, grader: str) -> float:
        """Processor seconds for a learner, the median of the rounds."""
        return statistics.median(r.costs[grader].processor for r in self.rounds) / self.learners


def compare(puzzles: Sequence[str], learners: int, rounds: int, place: Path) -> Compared:
    handed_in = submissions(puzzles, learners)
    graders: list[ThisProject | Otter | Nbgrader] = []
    for make in (ThisProject, Otter, Nbgrader):
        folder = place / f"{make.name.replace(' ', '-')}-{len(puzzles)}"
        folder.mkdir(parents=True)
        graders.append(make(folder, puzzles))
        graders[-1].hand_in(handed_in)
    done = []
    for number in range(rounds):
        costs = {}
        for grader in graders[number % 3 :] + graders[: number % 3]:  # nobody is always the first or the last
            costs[grader.name] = grader.grade(handed_in)
            print(
                f"  round {number + 1}: {grader.name:13}{costs[grader.name].processor / learners:7.2f} s a learner",
                flush=True,
            )
        done.append(Round(costs))
    given = _given(handed_in, {g.name: g.points(handed_in) for g in graders})
    ours = graders[0]
    assert isinstance(ours, ThisProject)
    again = ours.grade(handed_in, again=True)
    twice = [replace(each, learner=f"{each.learner}{copy}") for each in handed_in for copy in "abcde"]
    ours.hand_in(twice)
    doubled = ours.grade(twice)
    return Compared(tuple(puzzles), learners, done, given, again, doubled)


def _given(handed_in: Sequence[HandedIn], points: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[Given]:
    return [
        Given(
            puzzle,
            kernel,
            kernel == "solution" or kernel in correct(puzzle),
            {grader: points[grader].get(learner.learner, {}).get(puzzle) for grader in GRADERS},
        )
        for learner in handed_in
        for puzzle, kernel in learner.kernels.items()
    ]


@dataclass(frozen=True)
class Class:
    """A class with four puzzles a learner, no kernel like another, graded by this project."""

    learners: int
    cost: Cost


def grade_class(size: int, place: Path) -> Class:
    folder = place / f"class-{size}"
    folder.mkdir(parents=True)
    grader, handed_in = ThisProject(folder, LADDER), different(LADDER, size)
    grader.hand_in(handed_in)
    made = Class(size, grader.grade(handed_in))
    print(f"  {size} learners: {made.cost.processor / size:.2f} s a learner, {made.cost.memory:.0f} MB", flush=True)
    return made


# ---------------------------------------------------------------------------------------------------------- the report


def table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rest])


@dataclass(frozen=True)
class Measured:
    """All of the report."""

    compared: list[Compared]
    classes: list[Class]

    def with_others(self, older: Measured) -> Measured:
        """With what `older` has and this has not. Classes are kept together: sizes are compared with each other."""
        compared = {len(c.puzzles): c for c in (*older.compared, *self.compared)}
        return Measured([compared[n] for n in sorted(compared)], self.classes or older.classes)


def kept() -> Measured:
    """The report that is there."""
    path = REPORT.with_suffix(".json")
    return msgspec.json.decode(path.read_bytes(), type=Measured) if path.exists() else Measured([], [])


def page(measured: Measured) -> str:
    compared, classes = measured.compared, measured.classes
    parts = ["# What grading a class costs", textwrap.fill(_WORDS, 120)]
    for each in compared:
        parts += [_costs(each), _judged(each)]
    if classes:
        rows = [["learners", "processor s", "a learner", "peak memory"]]
        rows += [
            [
                str(c.learners),
                f"{c.cost.processor:.0f}",
                f"{c.cost.processor / c.learners:.2f}",
                f"{c.cost.memory:.0f} MB",
            ]
            for c in classes
        ]
        parts += [f"## A class with {len(LADDER)} puzzles each, every kernel different, this project", table(rows)]
        parts.append(_growth(classes))
    return "\n\n".join(parts) + "\n"


def _growth(classes: Sequence[Class]) -> str:
    """What a further learner costs, from the smallest class to the largest."""
    small, large = classes[0], classes[-1]
    if small.learners == large.learners:
        return "Only one size was run."
    slope = (large.cost.processor - small.cost.processor) / (large.learners - small.learners)
    return f"Each further learner costs {slope:.2f} s."


_WORDS = (
    "Made by `python bench/grading.py --write`. Processor seconds of the whole process tree, start included, and the largest "
    "memory of the tree (PSS). The graders took turns on the same notebooks, half of whose kernels are wrong. otter and nbgrader run "
    "five plain asserts a puzzle in Triton's interpreter, without any isolation; this project runs its own cases, compiles for four "
    "GPUs, explains the failures and writes a page for each learner, behind all layers of its sandbox. In the first round it has "
    "to find out what its bank of wrong kernels does; that is kept for all later runs, and the other rounds find it there."
)


def _costs(each: Compared) -> str:
    many = f"{len(each.puzzles)} puzzles" if len(each.puzzles) > 1 else "one puzzle"
    rows = [["", *GRADERS]]
    for number, done in enumerate(each.rounds):
        rows.append(
            [f"s a learner, round {number + 1}", *(f"{done.costs[g].processor / each.learners:.2f}" for g in GRADERS)]
        )
        rows.append([f"times this project, round {number + 1}", *(f"{done.ratio(g):.1f}" for g in GRADERS)])
    rows.append(["times this project, median", *(f"{each.ratio(g):.1f}" for g in GRADERS)])
    memory = {g: max(done.costs[g].memory for done in each.rounds) for g in GRADERS}
    rows.append(["peak memory", *(f"{memory[g]:.0f} MB" for g in GRADERS)])
    copies = each.doubled.processor - each.rounds[-1].costs[OURS].processor
    copy, again = max(copies, 0.01) / (4 * each.learners), each.again.processor / each.learners
    lines = [
        f"Graded again with nothing changed: {again:.2f} s a learner, {each.each('otter') / again:.0f} times less than otter and "
        f"{each.each('nbgrader') / again:.0f} times less than nbgrader, which do all their work again.",
        f"Handed in by four more learners each: {copy:.2f} s a copy, {each.each('otter') / copy:.0f} and {each.each('nbgrader') / copy:.0f} "
        "times less.",
    ]
    return f"## Notebooks with {many}, {each.learners} learners\n\n{table(rows)}\n\n" + "\n".join(lines)


def _judged(each: Compared) -> str:
    rows = [["puzzle", "kernel", "is", *GRADERS]]
    for given in each.given:
        shares = ["no result" if s is None else f"{100 * s:.0f} %" for s in (given.shares[g] for g in GRADERS)]
        rows.append([given.puzzle, given.kernel, "right" if given.right else "wrong", *shares])
    right = {g: sum((x.shares[g] == 1) == x.right for x in each.given) for g in GRADERS}
    rows.append(["", "told right from wrong", "", *(f"{right[g]} of {len(each.given)}" for g in GRADERS)])
    return "What they gave:\n\n" + table(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--puzzles", nargs="*", type=int, choices=(1, 4), default=[1, 4], help="puzzles a notebook")
    parser.add_argument("--learners", nargs="*", type=int, default=[12, 4], help="learners, for each of --puzzles")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--class-sizes", nargs="*", type=int, default=[], help="classes for this project alone")
    parser.add_argument("--write", action="store_true", help=f"keep in {REPORT.relative_to(ROOT)}.json and .md")
    options = parser.parse_args(arguments)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    with tempfile.TemporaryDirectory(prefix="grading-bench-") as folder:
        place = Path(folder)
        compared = [
            compare(LADDER if count == 4 else ONE, learners, options.rounds, place)
            for count, learners in zip(options.puzzles, options.learners, strict=False)
        ]
        classes = [grade_class(size, place) for size in options.class_sizes]
    measured_now = Measured(compared, classes)
    print(page(measured_now))
    if options.write:
        whole = measured_now.with_others(kept())
        REPORT.with_suffix(".json").write_text(json.dumps(asdict(whole), indent=1) + "\n")
        REPORT.with_suffix(".md").write_text(page(whole))


if __name__ == "__main__":
    main()
