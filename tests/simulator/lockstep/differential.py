"""The same launches side by side and one program after another, compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from checker.judge.launches import Prepared, plan, prepare_all, whole
from checker.puzzle import Launch, Puzzle
from checker.simulator import SimulationError, Trace, simulate, simulate_together
from checker.submission.kernel import KernelSource
from checker.submission.load import load_kernel
from tests.judge.local_runner import copied

ROUNDING = {torch.float32: 1e-6, torch.float16: 2.0**-9, torch.bfloat16: 2.0**-6, torch.float64: 1e-14}
"""Of a row's largest number: sums are taken in another order, and 16-bit numbers may then round to the next."""


@dataclass
class Difference:
    """What came of some launches both ways. `problems` are those where the fast path said what `simulate` does not."""

    problems: list[str] = field(default_factory=list)
    together: int = 0
    clean: int = 0
    """Launches in which `simulate` finds nothing; those that ran `together` are among them."""

    def add(self, other: Difference) -> None:
        self.problems += other.problems
        self.together += other.together
        self.clean += other.clean


def compared(puzzle: Puzzle, source: KernelSource, folder: Path, every: int = 1, start: int = 0) -> Difference:
    """A kernel on the CPU cases of its puzzle: every so many of them, from number `start` on."""
    cases = [case for case in puzzle.cases if "cpu" in case.devices]
    prepared = prepare_all(puzzle, plan(puzzle, cases, source.configs))[start % every :: every]
    return compared_launches(load_kernel(source, folder), prepared)


def compared_launches(kernel: Any, prepared: Sequence[Prepared]) -> Difference:
    alone, together = ([_copy(p.launch) for p in prepared] for _ in range(2))
    traces = simulate_together(kernel, together, 60.0)
    difference = Difference()
    for one, mine, theirs, trace in zip(prepared, alone, together, traces, strict=True):
        try:
            expected = simulate(kernel, mine)
        except SimulationError as error:
            if trace is not None:
                difference.problems.append(f"{one.case.name}: {error.message}")
            elif _storages(theirs) != _storages(one.launch):
                difference.problems.append(f"{one.case.name}: memory was changed")
            continue
        difference.clean += not expected.findings
        if trace is None:
            problems = ["memory was changed"] if _storages(theirs) != _storages(one.launch) else []
        else:
            difference.together += 1
            problems = [*_traces(expected, trace), *_values(mine, theirs)]
        difference.problems += [f"{one.case.name}: {problem}" for problem in problems]
    return difference


def _copy(launch: Launch) -> Launch:
    return replace(launch, arguments={name: copied(value) for name, value in launch.arguments.items()})


def _storages(launch: Launch) -> dict[str, bytes]:
    """The bytes of every tensor with what lies around it."""
    tensors = {name: value for name, value in launch.arguments.items() if isinstance(value, torch.Tensor)}
    return {name: whole(tensor).view(torch.uint8).numpy().tobytes() for name, tensor in tensors.items()}


def _traces(expected: Trace, got: Trace) -> list[str]:
    problems = [f"found {found.kind}" for found in expected.findings]
    for name in ("grid", "tensors", "traffic", "flops", "lane_flops", "printed"):
        if getattr(expected, name) != getattr(got, name):
            problems.append(f"{name} {getattr(got, name)} and not {getattr(expected, name)}")
    for name in ("writers", "writer_lines"):
        ours, theirs = getattr(expected, name), getattr(got, name)
        if ours.keys() != theirs.keys() or any(not np.array_equal(ours[key], theirs[key]) for key in ours):
            problems.append(f"other {name}")
    return problems


def _values(expected: Launch, got: Launch) -> list[str]:
    problems = []
    for name, one in expected.arguments.items():
        other = got.arguments[name]
        if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
            continue
        if name not in expected.outputs or not one.is_floating_point():
            if not torch.equal(whole(one).view(torch.uint8), whole(other).view(torch.uint8)):
                problems.append(f"other bytes in {name}")
            continue
        a, b = whole(one).double(), whole(other).double()
        same = (a == b) | (a.isnan() & b.isnan())
        largest = _row_magnitude(one)
        near = (a - b).abs() <= ROUNDING[one.dtype] * largest
        if not bool((same | near).all()):
            worst = float(((a - b).abs() / largest)[~same].nan_to_num(nan=torch.inf).max())
            problems.append(f"{name} is off by {worst:.1e}")
    return problems


def _row_magnitude(tensor: torch.Tensor) -> torch.Tensor:
    """For each element of the storage the largest finite number of its row, 0 where there is no element."""
    finite = tensor.double().nan_to_num(nan=0.0, posinf=0.0, neginf=0.0).abs()
    rows = finite.amax(-1, keepdim=True).expand(finite.shape) if finite.numel() and finite.ndim else finite
    scale = torch.zeros(tensor.untyped_storage().nbytes() // tensor.element_size(), dtype=torch.float64)
    torch.as_strided(scale, tensor.shape, tensor.stride(), tensor.storage_offset()).copy_(rows)
    return scale
