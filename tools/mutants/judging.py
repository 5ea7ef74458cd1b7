"""Judges mutants the way a learner's kernel is judged, several at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from random import Random
from typing import Any, Literal, cast

import torch

from checker.checking import check_source
from checker.course import PUZZLES
from checker.judge import memory_gate, traffic_gate
from checker.judge.launches import Prepared, prepare_all, volume
from checker.judge.outcome import Candidate, Outcome
from checker.judge.runner import Runner
from checker.judge.verdict import Verdict
from checker.misconceptions import bank, solution
from checker.puzzle import Case, Puzzle
from checker.sandbox import Sandbox
from checker.simulator.trace import SimulateOptions, Trace
from checker.submission.kernel import KernelSource
from tools.mutants.mechanical import Mutant
from tools.mutants.sources import source_of

DRAWS, DRAWN = 6, 24
"""A mutant is compared with the solution on so many of the smallest cases out of so many draws, beside the puzzle's own."""
EVENTS = SimulateOptions(events=True)


@dataclass(frozen=True)
class Fate:
    """What became of one mutant.

    It was *killed* by the gate `by`; or it passed. Then it is *equivalent* if it cannot be told from the right kernel on any
    case, and has *survived* otherwise: `differs` says where it differs.
    """

    puzzle: str
    mutant: str
    outcome: Literal["killed", "equivalent", "survived"]
    by: str = ""
    differs: str = ""


def runner() -> Runner:
    return cast(Runner, Sandbox.shared())


def drawn_cases(puzzle: Puzzle) -> list[Case]:
    """Random cases of the puzzle's own construction, as grading draws them, the same every time."""
    random = Random(f"mutants of {puzzle.name}")
    cases = [case for _ in range(DRAWS) for case in puzzle.drawn(random) if "cpu" in case.devices]
    return sorted(cases, key=volume)[:DRAWN]


def judged(puzzle: Puzzle, source: KernelSource, diagnose: bool) -> Verdict:
    """The verdict. Raises RuntimeError if the checker itself fails."""
    verdict = check_source(puzzle, source, "cpu", diagnose=diagnose, hurry=False)
    if verdict.status == "infra_error":
        raise RuntimeError(verdict.gates[0].detail)
    return verdict


def fault(puzzle: Puzzle, outcome: Outcome) -> str:
    """The gate that has something against one launch, empty if none has."""
    if not outcome.right:
        return "values"
    if memory_gate.memory_findings(outcome):
        return "memory"
    return "traffic" if traffic_gate.overdrawn(puzzle, outcome) else ""


def wrong_kernel(task: tuple[str, str]) -> tuple[Fate, bool]:
    """A wrong kernel of the bank: killed if a gate meant for it stops it. And whether it was given its name."""
    puzzle, name = task
    wrong = next(one for one in bank(puzzle) if one.name == name)
    verdict = judged(PUZZLES[puzzle], wrong.source, diagnose=True)
    gate = verdict.failure.gate if verdict.failure is not None else "none"
    named = verdict.diagnosis is not None and verdict.diagnosis.misconception in (name, *wrong.same_as)
    differs = "" if gate in wrong.gates else f"stopped by {gate}, meant for {' or '.join(wrong.gates)}"
    return Fate(puzzle, f"{puzzle}: {name}", "survived" if differs else "killed", gate, differs), named


def mechanical(mutant: Mutant) -> Fate:
    """What becomes of a mechanical mutant."""
    puzzle = PUZZLES[mutant.puzzle]
    source = source_of(puzzle, mutant.source)
    if failure := judged(puzzle, source, diagnose=False).failure:
        return Fate(puzzle.name, mutant.key, "killed", by=failure.gate)
    differs = next(_differences(puzzle, source), "")
    return Fate(puzzle.name, mutant.key, "survived" if differs else "equivalent", differs=differs)


@cache
def _right(name: str) -> list[Outcome]:
    """What the solution does in the puzzle's cases and in drawn ones."""
    puzzle = PUZZLES[name]
    cases = [case for case in puzzle.cases if "cpu" in case.devices] + drawn_cases(puzzle)
    prepared = prepare_all(puzzle, [(case, None) for case in cases])
    candidate = Candidate(puzzle, source_of(puzzle, solution(name)), runner())
    outcomes = list(candidate.simulate(prepared, EVENTS))
    if len(outcomes) < len(cases) or any(fault(puzzle, outcome) for outcome in outcomes):
        raise AssertionError(f"{name}: the solution itself does not pass")
    return outcomes


def _differences(puzzle: Puzzle, source: KernelSource) -> Iterator[str]:
    """How the kernel differs from the solution, case by case."""
    right = _right(puzzle.name)
    prepared: list[Prepared] = [outcome.prepared for outcome in right]
    outcomes = Candidate(puzzle, source, runner()).simulate(prepared, EVENTS)
    for expected, outcome in zip(right, outcomes, strict=False):
        if difference := fault(puzzle, outcome) or _difference(puzzle, expected, outcome):
            yield f"{outcome.case.name}: {difference}"


def _difference(puzzle: Puzzle, expected: Outcome, outcome: Outcome) -> str:
    for name in outcome.prepared.launch.outputs:
        if not _alike(puzzle, outcome.case, name, outcome.result.tensors[name], expected.result.tensors[name]):
            return f"another {name}, within the tolerance"
    assert expected.trace is not None
    assert outcome.trace is not None
    ours, theirs = _accesses(expected.trace), _accesses(outcome.trace)
    words = (((theirs - ours).total(), "accesses more"), ((ours - theirs).total(), "accesses fewer"))
    return ", ".join(f"{count} {what}" for count, what in words if count)


def _alike(puzzle: Puzzle, case: Case, output: str, got: torch.Tensor, expected: torch.Tensor) -> bool:
    """Equal but for rounding: 32 steps of float32, one of a 16-bit type, at the magnitude of the element or of its row."""
    steps = 32 if expected.dtype is torch.float32 else 1
    eps = torch.finfo(expected.dtype).eps
    scale = puzzle.scale(case, output, expected.double()).nan_to_num(posinf=0.0, neginf=0.0)
    near = (got.double() - expected.double()).abs() <= steps * eps * (expected.double().abs() + eps * scale)
    return bool((near | (got == expected) | (got.isnan() & expected.isnan())).all())


def _accesses(trace: Trace) -> Counter[tuple[object, ...]]:
    """Every access, in any order: program, kind, tensor, tile, bytes, masked lanes."""
    return Counter((e.program, e.kind, e.tensor, e.tile, e.bytes, e.masked) for e in trace.events)


# ------------------------------------------------------------------------------------------------------------- pool


def judge_all(judge: Callable[[Any], Any], tasks: Sequence[Any], jobs: int) -> Iterator[Any]:
    """The results in order, from `jobs` processes, each with a sandbox of its own."""
    with ProcessPoolExecutor(jobs, get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        yield from pool.map(judge, tasks)
