"""Runs one kernel at several sizes in the sandbox: in the simulator for what is counted, on a GPU for what is timed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from checker.judge.launches import prepare
from checker.puzzle import Case, Launch, Puzzle, Scalar
from checker.sandbox import Sandbox
from checker.simulator.trace import SimulateOptions, Trace
from checker.verbs.naming import UsageError
from checker.verbs.sizes import refuse_what_no_gpu_takes, told_as_misuse

if TYPE_CHECKING:
    import torch

    from checker.submission.kernel import KernelSource


@dataclass(frozen=True)
class Counted:
    """What one launch moved between memory and chip, and computed there."""

    bytes: int
    flops: int


def counted(puzzle: Puzzle, source: KernelSource, cases: Sequence[Case]) -> list[Counted]:
    """One launch in the simulator for each case. Raises UsageError where the kernel does not run."""
    launches = [unjudged(puzzle, case, case.meta) for case in cases]
    return [
        Counted(sum(t.loaded + t.stored for t in trace.traffic.values()), trace.flops + trace.lane_flops)
        for trace, _ in _simulated(puzzle, source, cases, launches)
    ]


def errors_of(puzzle: Puzzle, source: KernelSource, cases: Sequence[Case], output: str) -> list[float]:
    """The relative error of one output, for each case in the simulator. Raises UsageError where the kernel does not run."""
    with told_as_misuse():
        ready = [prepare(puzzle, case) for case in cases]
    runs = _simulated(puzzle, source, cases, [one.launch for one in ready])
    return [relative_error(after[output], one.expected[output]) for one, (_, after) in zip(ready, runs, strict=True)]


def _simulated(
    puzzle: Puzzle, source: KernelSource, cases: Sequence[Case], launches: Sequence[Launch]
) -> Iterator[tuple[Trace, Mapping[str, torch.Tensor]]]:
    results = Sandbox.shared().simulate(source, launches, SimulateOptions())
    # the first result that is not `passed` is the last, and raises here
    for case, launch, result in zip(cases, launches, results, strict=False):
        if result.trace is None or result.status != "passed":
            raise UsageError(f"{puzzle.kernel} did not run at {case.name}: {result.message or result.status}")
        refuse_what_no_gpu_takes(puzzle, source, case, launch, result.trace)
        yield result.trace, result.tensors


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


def unjudged(puzzle: Puzzle, case: Case, meta: Mapping[str, Scalar]) -> Launch:
    """A launch without the float64 reference that `prepare` computes: at large sizes that would take longer than all else."""
    with told_as_misuse():
        tensors = puzzle.make(case)
    return puzzle.launch(case, tensors, meta)


def timed_launch(puzzle: Puzzle, source: KernelSource, case: Case, named: Sequence[str] = ()) -> Launch:
    """A launch to time: in the kernel's own first configuration, where it has one, except for what the caller `named`."""
    if not source.configs:
        return unjudged(puzzle, case, case.meta)
    own = {name: value for name, value in source.configs[0].meta.items() if name not in named}
    launch = unjudged(puzzle, case, {**case.meta, **own})
    return replace(launch, options={**launch.options, **source.configs[0].options})


def seconds(
    puzzle: Puzzle, source: KernelSource, cases: Sequence[Case], named: Sequence[Sequence[str]] = ()
) -> list[float]:
    """Median seconds of a launch on the GPU, for each case. Raises UsageError with the reason where one cannot be timed."""
    own = named or [()] * len(cases)
    launches = (timed_launch(puzzle, source, case, names) for case, names in zip(cases, own, strict=True))
    medians: list[float] = []
    try:
        for timing in Sandbox.shared().time(source, launches):
            medians.append(timing.median)
    except RuntimeError as error:
        raise UsageError(f"{puzzle.kernel} could not be timed at {cases[len(medians)].name}: {error}") from error
    return medians
