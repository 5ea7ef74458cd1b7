"""Runs one kernel at several sizes in the sandbox: in the simulator for what is counted, on a GPU for what is timed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from checker.judge.prepare import Prepared, prepare
from checker.puzzle import Case, Launch, Puzzle, Scalar
from checker.sandbox import Sandbox
from checker.simulator.trace import SimulateOptions, Trace
from checker.verbs.naming import Misuse

if TYPE_CHECKING:
    import torch

    from checker.submission.kernel import KernelSource


@dataclass(frozen=True)
class Simulated:
    """One launch in the simulator: what was prepared, what was seen, and the tensors afterwards, by parameter."""

    prepared: Prepared
    trace: Trace
    tensors: Mapping[str, torch.Tensor]

    @property
    def bytes(self) -> int:
        """Bytes between memory and chip."""
        return sum(t.loaded + t.stored for t in self.trace.traffic.values())

    @property
    def flops(self) -> int:
        return self.trace.flops + self.trace.lane_flops


def simulated(puzzle: Puzzle, source: KernelSource, cases: Sequence[Case]) -> list[Simulated]:
    """One launch for each case. Raises Misuse where the kernel does not run."""
    ready = [prepare(puzzle, case) for case in cases]
    results = Sandbox.shared().simulate(source, [one.launch for one in ready], SimulateOptions())
    found = []
    for one, result in zip(ready, results, strict=False):  # the first that does not pass is the last, and raises here
        if result.trace is None or result.status != "passed":
            raise Misuse(f"{puzzle.kernel} did not run at {one.case.name}: {result.message or result.status}")
        found.append(Simulated(one, result.trace, result.tensors))
    return found


def relative_error(got: torch.Tensor, expected: torch.Tensor) -> float:
    """Root mean square of the difference over root mean square of `expected`, in float64.

    Elements whose reference is infinite are left out (the log-sum-exp of a row that sees nothing). NaN where `got` holds one
    elsewhere; a difference from a reference of nothing but zeros is infinite.
    """
    expected = expected.double().expand(got.shape)
    counted = expected.isfinite()
    difference = (got.double() - expected)[counted].square().mean().sqrt().item()
    size = expected[counted].square().mean().sqrt().item()
    if size == 0:
        return 0.0 if difference == 0 else math.inf
    return difference / size


def timed_launch(puzzle: Puzzle, source: KernelSource, case: Case, named: Sequence[str] = ()) -> Launch:
    """A launch to time, without the reference that `prepare` computes: at large sizes that would take longer than all else.

    Meta-parameters and launch options are those of the kernel's own first configuration, where it has one; what the caller
    `named` stays as it is in the case.
    """
    meta: dict[str, Scalar] = dict(case.meta)
    options: dict[str, int] = {}
    if source.configs:
        meta |= {name: value for name, value in source.configs[0].meta.items() if name not in named}
        options = dict(source.configs[0].options)
    launch = puzzle.launch(case, puzzle.make(case), meta)
    return replace(launch, options={**launch.options, **options})


def seconds(puzzle: Puzzle, source: KernelSource, case: Case, named: Sequence[str] = ()) -> float:
    """Median seconds of a launch on the GPU. Raises Misuse with the reason where it cannot be timed."""
    try:
        return float(Sandbox.shared().time(source, timed_launch(puzzle, source, case, named)).median)
    except RuntimeError as error:
        raise Misuse(f"{puzzle.kernel} could not be timed at {case.name}: {error}") from error
