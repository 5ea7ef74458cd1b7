"""Judges right kernels on cases that are drawn anew, as grading with a secret draws them. None may be refused, whatever the secret is.

The kernels are the solution and those of tests/misconceptions/correct and styles. Every seed draws the numbers of all cases again,
and some cases more. Prints a line for each puzzle, and each kernel that is refused or comes near it. Exits with 1 where one is refused.

    python tools/false_alarms.py --seeds 20 --puzzle linear_chunk_states
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from checker.course import LADDER, PUZZLES  # noqa: E402
from checker.judge import memory_gate, traffic_gate, values_gate  # noqa: E402
from checker.judge.launches import cases_of, plan, prepare_all  # noqa: E402
from checker.judge.outcome import simulate_cases  # noqa: E402
from checker.submission.kernel import KernelSource  # noqa: E402
from tests.judge.helpers import solution  # noqa: E402
from tests.judge.local_runner import LocalRunner  # noqa: E402
from tests.misconceptions.kernels import correct, styles  # noqa: E402

GATES = (values_gate, memory_gate, traffic_gate)
NEAR = 0.75
"""A share of what the tolerance allows: a right kernel that comes as near as this is shown."""


@dataclass(frozen=True)
class Judged:
    """One kernel on the cases of one seed. `worst`: its largest error over what is allowed, in the case `where`. `refused`: by which gate."""

    puzzle: str
    kernel: str
    seed: int
    worst: float
    where: str
    refused: str

    def line(self) -> str:
        word = f"refused by {self.refused}" if self.refused else "near"
        return f"{self.puzzle}: {self.kernel} {word}: {self.worst:.2f} of what is allowed in {self.where}"


def kernels(puzzle: str) -> dict[str, KernelSource]:
    """The right kernels of a puzzle, by name."""
    return {"solution": solution(puzzle), **correct(puzzle), **styles(puzzle)}


def judged(puzzle_name: str, kernel: str, seed: int) -> Judged:
    """What becomes of a right kernel."""
    torch.set_num_threads(1)
    puzzle, source = PUZZLES[puzzle_name], kernels(puzzle_name)[kernel]
    cases = [case for case in cases_of(puzzle, seed) if "cpu" in case.devices]
    prepared = prepare_all(puzzle, plan(puzzle, cases, source.configs))
    with tempfile.TemporaryDirectory() as folder:
        outcomes = simulate_cases(puzzle, source, LocalRunner(Path(folder)), prepared)
    refused = next((gate.GATE for gate in GATES if gate.failure(puzzle, outcomes) is not None), "")
    worst, where = max((o.comparison.worst if o.comparison else float("inf"), o.case.name) for o in outcomes)
    return Judged(puzzle_name, kernel, seed, worst, where, refused)


def table(found: Sequence[Judged]) -> list[str]:
    """A line for each puzzle, and after it one for each kernel that was refused or near it."""
    lines = []
    for name in dict.fromkeys(one.puzzle for one in found):
        own = [one for one in found if one.puzzle == name]
        refused = sum(bool(one.refused) for one in own)
        lines.append(
            f"{name:34}{len(own):5} judged{refused:5} refused   worst {max(one.worst for one in own):.2f} of what is allowed"
        )
        lines += [f"  {one.line()}" for one in own if one.refused or one.worst > NEAR]
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--puzzle", action="append", choices=list(PUZZLES), help="only this one; may be repeated")
    parser.add_argument("--seeds", type=int, default=10, help="how many seeds (default 10)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="kernels at a time")
    options = parser.parse_args()
    names = [puzzle.name for puzzle in LADDER if not options.puzzle or puzzle.name in options.puzzle]
    seeds = range(options.first, options.first + options.seeds)
    asked = [(name, kernel, seed) for name in names for kernel in kernels(name) for seed in seeds]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(judged, *zip(*asked, strict=True)))
    print("\n".join(table(found)))
    return 1 if any(one.refused for one in found) else 0


if __name__ == "__main__":
    raise SystemExit(main())
