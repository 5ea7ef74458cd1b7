"""Right kernels on cases drawn anew, as grading with a secret draws them. None may be refused, whatever the secret is.

The kernels are the solutions and those in tests/misconceptions/correct and styles. A seed changes the numbers in all cases and
adds more cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from checker.course import PUZZLES
from checker.judge.launches import cases_of, plan, prepare_all
from checker.judge.outcome import Candidate
from checker.misconceptions import pages, solution
from checker.submission.kernel import KernelSource
from tools.mutants.judging import fault, runner
from tools.mutants.sources import source_of

PAGES = Path(__file__).resolve().parents[2] / "tests" / "misconceptions"


@dataclass(frozen=True)
class Judged:
    """A right kernel on the cases of one seed. `worst` is its largest error as a share of the tolerance."""

    puzzle: str
    kernel: str
    seed: int
    worst: float
    refused: str
    """The case and the gate that refuses it, or nothing."""


@cache
def right_kernels(puzzle: str) -> dict[str, KernelSource]:
    """The right kernels of a puzzle, by name."""
    kernels = {pages.SOLUTION: solution(puzzle)}
    for page in (PAGES / "correct" / f"{puzzle}.md", PAGES / "styles" / f"{puzzle}.md"):
        if page.is_file():
            entries = pages.read(page, PUZZLES[puzzle].kernel, (), {pages.SOLUTION: solution(puzzle)})
            kernels |= {entry.name: entry.source for entry in entries}
    return {name: source_of(PUZZLES[puzzle], text) for name, text in kernels.items()}


def judged(task: tuple[str, str, int]) -> Judged:
    name, kernel, seed = task
    puzzle, source = PUZZLES[name], right_kernels(name)[kernel]
    cases = [case for case in cases_of(puzzle, seed) if "cpu" in case.devices]
    prepared = prepare_all(puzzle, plan(cases, source.configs))
    outcomes = Candidate(puzzle, source, runner()).simulate_cases(prepared)
    refused = next((f"{o.case.name}: {gate}" for o in outcomes if (gate := fault(puzzle, o))), "")
    worst = max(outcome.comparison.worst if outcome.comparison else float("inf") for outcome in outcomes)
    return Judged(name, kernel, seed, worst, refused)
