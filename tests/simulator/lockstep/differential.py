"""The same launches side by side and one program after another, compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from checker.judge.launches import plan, prepare_all, whole
from checker.live.in_process import copied
from checker.puzzle import Launch, Puzzle
from checker.simulator import SimulationError, Trace, simulate, simulate_together
from checker.submission.kernel import KernelSource
from checker.submission.load import load_kernel


@dataclass
class Difference:
    """What came of some launches both ways. `problems` are those where the fast path said what `simulate` does not."""

    problems: list[str] = field(default_factory=list)
    together: list[bool] = field(default_factory=list)
    """Of each launch, whether it ran beside others."""
    clean: int = 0
    """Launches in which `simulate` finds nothing; those that ran together are among them."""


def compared(puzzle: Puzzle, source: KernelSource, folder: Path, every: int = 1, start: int = 0) -> Difference:
    """A kernel on the CPU cases of its puzzle: every so many of them, from number `start` on."""
    cases = [case for case in puzzle.cases if "cpu" in case.devices]
    prepared = prepare_all(puzzle, plan(cases, source.configs))[start % every :: every]
    return compared_launches(load_kernel(source, folder), [(p.case.name, p.launch) for p in prepared])


def compared_launches(kernel: Any, named: Sequence[tuple[str, Launch]]) -> Difference:
    """Of launches with names, left as they are."""
    alone, together = ([_copy(launch) for _, launch in named] for _ in range(2))
    traces = simulate_together(kernel, together, 60.0)
    difference = Difference(together=[trace is not None for trace in traces])
    seen: list[tuple[Trace, Trace]] = []
    for (name, launch), mine, theirs, trace in zip(named, alone, together, traces, strict=True):
        problems = ["memory was changed"] if trace is None and _storages(theirs) != _storages(launch) else []
        try:
            expected = simulate(kernel, mine)
        except SimulationError as error:
            if trace is not None:
                problems.append(error.message)
        else:
            difference.clean += not expected.findings
            if trace is not None:
                problems = [*_traces(expected, trace), *_values(mine, theirs)]
            seen.append((expected, trace or expected))
        difference.problems += [f"{name}: {problem}" for problem in problems]
    if _ways(one for one, _ in seen) != _ways(other for _, other in seen):
        difference.problems.append("conditions went other ways")
    return difference


def _ways(traces: Iterable[Trace]) -> dict[tuple[str, int, int, int], tuple[bool, bool]]:
    """Which ways each condition went in any of the launches."""
    ways: dict[tuple[str, int, int, int], tuple[bool, bool]] = {}
    for one in (condition for trace in traces for condition in trace.conditions):
        place = one.function, one.line, one.column, one.end_column
        true, false = ways.get(place, (False, False))
        ways[place] = true or bool(one.true), false or bool(one.false)
    return ways


def _copy(launch: Launch) -> Launch:
    return replace(launch, arguments={name: copied(value) for name, value in launch.arguments.items()})


def _storages(launch: Launch) -> dict[str, bytes]:
    """The bytes of every tensor with what lies around it."""
    tensors = {name: value for name, value in launch.arguments.items() if isinstance(value, torch.Tensor)}
    return {name: whole(tensor).view(torch.uint8).numpy().tobytes() for name, tensor in tensors.items()}


def _traces(expected: Trace, got: Trace) -> list[str]:
    problems = [f"found {found.kind}" for found in expected.findings]
    if not got.in_lockstep:
        problems.append("not said to be in lockstep")
    for name in ("grid", "tensors", "traffic", "flops", "lane_flops", "printed"):
        if getattr(expected, name) != getattr(got, name):
            problems.append(f"{name} {getattr(got, name)} and not {getattr(expected, name)}")
    for name in ("writers", "writer_lines"):
        ours, theirs = getattr(expected, name), getattr(got, name)
        if ours.keys() != theirs.keys() or any(not np.array_equal(ours[key], theirs[key]) for key in ours):
            problems.append(f"other {name}")
    return problems


def _values(expected: Launch, got: Launch) -> list[str]:
    """Bit for bit, what lies around each tensor too; of NaN one is like another."""
    problems = []
    for name, one in expected.arguments.items():
        if isinstance(one, torch.Tensor):
            a, b = whole(one), whole(got.arguments[name])  # type: ignore[arg-type]
            same = (a == b) | ((a != a) & (b != b))
            if not bool(same.all()):
                problems.append(f"other numbers in {name}, {int((~same).sum())} of {same.numel()}")
    return problems
