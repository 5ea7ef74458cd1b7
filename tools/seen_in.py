"""Write the `Seen in:` label of every wrong kernel: the smallest case in which the judge catches it and gives it its name.

A kernel that only several cases together tell apart from other mistakes gets no case of its own.

Run it after changing a puzzle's cases or its page of wrong kernels:

    python tools/seen_in.py row_softmax online_softmax
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from math import prod
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, cast

import torch
import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from checker.checking import check_source
from checker.compiler import CompileRequest, CompileResult
from checker.course import LADDER, PUZZLES
from checker.judge.launches import prepare
from checker.judge.likeness import behaviour
from checker.judge.outcome import Candidate
from checker.judge.runner import Runner
from checker.misconceptions import FAR_OFFSETS, ROOT, SEVERAL_CASES, Misconception, bank, quick
from checker.puzzle import Case, Puzzle
from checker.sandbox import Sandbox
from checker.submission.kernel import KernelSource

LABEL = re.compile(r"^- \*\*Seen in:\*\*.*\n", re.MULTILINE)
ROUNDS = 6
"""How many failing cases are tried for a kernel that is not named in its smallest one."""


class WithoutCompiling:
    """The sandbox, with every compilation taken to have worked: the bank's kernels compile, and it takes long."""

    def __init__(self) -> None:
        sandbox = cast(Runner, Sandbox.shared())
        self.simulate, self.launch = sandbox.simulate, sandbox.launch

    def compile(
        self, kernel: KernelSource, requests: Sequence[CompileRequest], *, aside: bool = False
    ) -> Iterator[CompileResult]:
        return (CompileResult(request, ok=True) for request in requests)


def failing_cases(puzzle: Puzzle, wrong: Misconception, first: Sequence[Case], runner: Runner) -> Iterator[Case]:
    """The cases in which the kernel fails one of its gates: those in `first`, then from the smallest up."""
    cases = sorted((case for case in puzzle.cases if "cpu" in case.devices), key=lambda case: prod(case.sizes.values()))
    for case in [*first, *(case for case in cases if case not in first)]:
        for outcome in Candidate(puzzle, wrong.source, runner).simulate([prepare(puzzle, case)]):
            if not outcome.ran or not behaviour(puzzle, outcome).fails.isdisjoint(wrong.gates):
                yield case


def problem(puzzle: Puzzle, wrong: Misconception, runner: Runner) -> str:
    """Why a verdict on the cases of `puzzle` is not the expected one, empty if it is."""
    verdict = check_source(puzzle, wrong.source, "cpu", runner=runner, hurry=False)
    if verdict.failure is None:
        return "passes"
    if verdict.failure.gate not in wrong.gates:
        return f"is stopped by {verdict.failure.gate}"
    name = verdict.diagnosis.misconception if verdict.diagnosis is not None else None
    return "" if name in (wrong.name, *wrong.same_as) else f"is called {name}"


def seen_in(puzzle: Puzzle, runner: Runner) -> dict[str, str]:
    """The label of each wrong kernel. Raises LookupError for one that all cases together do not give its name."""
    used: list[Case] = []
    candidates = {wrong: failing_cases(puzzle, wrong, used, runner) for wrong in bank(puzzle.name)}
    names: dict[str, str] = {}
    pending = list(candidates)
    for _ in range(ROUNDS):
        for wrong in pending:
            case = next(candidates[wrong], None)
            names[wrong.name] = case.name if case is not None else FAR_OFFSETS
            if case is not None and case not in used:
                used.append(case)
        few = quick(puzzle, names.values())
        problems = {wrong: problem(few, wrong, runner) for wrong in pending}
        pending = [wrong for wrong in pending if problems[wrong]]
        if not pending:
            return names
    problems = {wrong: problem(puzzle, wrong, runner) for wrong in pending}
    if any(problems.values()):
        raise LookupError(f"{puzzle.name}: " + "; ".join(f"{wrong.name} {problems[wrong]}" for wrong in pending))
    return names | {wrong.name: SEVERAL_CASES for wrong in pending}


def write(name: str) -> str:
    """Write the labels of a puzzle's page. Returns what was done, for people."""
    torch.set_num_threads(1)
    page = ROOT / f"{name}.md"
    page.write_text(LABEL.sub("", page.read_text("utf-8")), "utf-8")  # a stale label would make the page unreadable
    cases = seen_in(PUZZLES[name], cast(Runner, WithoutCompiling()))
    parts = re.split(r"^(?=## )", page.read_text("utf-8"), flags=re.MULTILINE)
    for i, part in enumerate(parts[1:], 1):
        kernel = part.partition("\n")[0].removeprefix("## ").strip()
        if kernel in cases:  # no case shows what only the compiler refuses
            label = rf"\1- **Seen in:** {cases[kernel]}\n"
            parts[i] = re.sub(r"^(- \*\*Gate:\*\*.*\n)", label, part, count=1, flags=re.MULTILINE)
    page.write_text("".join(parts), "utf-8")
    return f"{name}: {len(cases)} wrong kernels in {len(set(cases.values()))} cases"


def main(
    puzzles: Annotated[list[str] | None, typer.Argument(help="every puzzle by default")] = None,
    jobs: Annotated[int, typer.Option(help="puzzles at a time")] = os.cpu_count() or 1,
) -> None:
    """Write the `Seen in:` labels on the pages of wrong kernels."""
    names = puzzles or [puzzle.name for puzzle in LADDER if bank(puzzle.name)]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for line in pool.map(write, names):
            print(line, flush=True)


if __name__ == "__main__":
    typer.run(main)
