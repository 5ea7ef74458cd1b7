"""Launches of one shape as one run."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from checker.puzzle import Launch
from checker.simulator.device_tensor import DeviceTensor, ShadowMemory
from checker.simulator.launch import arguments_of, grid_of
from checker.simulator.location import Locator
from checker.simulator.lockstep.builder import Builder
from checker.simulator.lockstep.conditions import LockstepConditions
from checker.simulator.lockstep.language import LockstepLanguage
from checker.simulator.lockstep.memory import Memory
from checker.simulator.lockstep.programs import GiveUp, OutOfTime, Programs
from checker.simulator.lockstep.rewrite import LockstepRewriter
from checker.simulator.lockstep.stacked import StackedTensor
from checker.simulator.operations.reductions import Reductions
from checker.simulator.rewrite import RewrittenFunctions
from checker.simulator.trace import Trace
from checker.simulator.triton_internals import (
    JITTED,
)
from checker.simulator.values import Pointer

MOST_LANES = 1 << 20
"""Programs times the lanes of a tile: an array of that many int64 takes 8 MB, and a run holds a few dozen."""
_OVERHEAD = 1 << 14
"""The fixed cost of an operation, counted in lanes."""


def simulate_together(
    kernel: Any, launches: Sequence[Launch], seconds: float, declared: bool = True, locator: Locator | None = None
) -> list[Trace | None]:
    """Run clean launches side by side, and return their traces; their outputs are changed in place.

    The other launches get None and are left as they were, for `simulate` to run. Takes at most `seconds` of processor time, and
    raises nothing for anything that a kernel does. If no outputs are `declared`, every tensor may be one, need not be stored as a
    whole, and a launch that stores NaN or inf is not clean.
    """
    traces: list[Trace | None] = [None] * len(launches)
    runs: list[_Run] = []
    deadline = time.process_time() + seconds
    locator, builder = locator or Locator(), Builder()
    language, conditions = LockstepLanguage(builder), LockstepConditions()
    functions = RewrittenFunctions(locator, language, conditions, language, LockstepRewriter)
    reductions = Reductions(builder, functions)
    with np.errstate(all="ignore"), language.patched(functions, reductions.reduce, reductions.scan):
        for group in _groups(kernel, launches):
            try:
                left = min(seconds / 2, deadline - time.process_time())
                run = _Run(kernel, [launches[i] for i in group], left, locator, declared)
                group_traces = run.traces(builder, functions, conditions)
            except KeyboardInterrupt:
                locator.program = builder.programs.one_running()
                raise
            except OutOfTime:  # the kernel may never end, in other groups too
                break
            except (Exception, SystemExit):  # `simulate` will report it
                continue
            runs.append(run)
            for i, trace in zip(group, group_traces, strict=True):
                traces[i] = trace
    for run in runs:
        run.write_back()
    return traces


def _groups(kernel: Any, launches: Sequence[Launch]) -> list[list[int]]:
    """The numbers of launches of one shape and similar length, in groups as large as memory allows.

    All programs of a run continue until the one with the longest loop has ended.
    """
    if not isinstance(kernel, JITTED):
        return []
    by_shape: dict[Any, list[int]] = {}
    for i, launch in enumerate(launches):
        by_shape.setdefault(_shape(launch), []).append(i)
    return [group for numbers in by_shape.values() for group in _of_similar_length(launches, numbers)]


def _of_similar_length(launches: Sequence[Launch], numbers: Sequence[int]) -> list[list[int]]:
    """Groups launches of one shape so that all take the least time: few groups, with few programs that wait for longer ones."""
    each = _lanes(launches[numbers[0]].meta)
    ordered = sorted((_length(launches[i]), i) for i in numbers)
    lanes = [each * _count(launches[i]) for _, i in ordered]
    least, starts = [0], list[int]()
    """`least[n]` is the time that the n shortest launches take, and `starts[n - 1]` is where their last group begins."""
    for end, (length, _) in enumerate(ordered, 1):
        together, choices = 0, list[tuple[int, int]]()
        for start in reversed(range(end)):
            together += lanes[start]
            if choices and together > MOST_LANES:
                break
            choices.append((least[start] + length * (_OVERHEAD + together), start))
        time, start = min(choices)
        least.append(time)
        starts.append(start)
    groups, end = [], len(ordered)
    while end:
        groups.append([i for _, i in ordered[starts[end - 1] : end]])
        end = starts[end - 1]
    return groups


def _count(launch: Launch) -> int:
    """The number of programs that run."""
    return math.prod(launch.grid)


def _shape(launch: Launch) -> Any:
    """What launches must share to run together: constants, and the types of everything else."""
    types = tuple((name, _type(value)) for name, value in launch.arguments.items())
    return types, tuple(sorted(launch.meta.items())), launch.outputs


def _length(launch: Launch) -> int:
    """The longest side of a tensor, as a measure of a program's loops."""
    sides = (side for value in launch.arguments.values() if isinstance(value, torch.Tensor) for side in value.shape)
    return max(sides, default=1)


def _type(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.dtype
    if isinstance(value, int) and not isinstance(value, bool):
        return int, -(2**31) <= value < 2**31, value < 2**63
    return type(value) if isinstance(value, bool | float) else repr(value)


def _lanes(meta: Mapping[str, Any]) -> int:
    """The lanes of the largest two-dimensional tile that these constants make."""
    sizes = sorted(value for value in meta.values() if isinstance(value, int) and value > 0)
    return math.prod(sizes[-2:])


class _Run:
    """One run of a kernel for launches of one shape. Raises GiveUp."""

    def __init__(
        self, kernel: Any, launches: Sequence[Launch], seconds: float, locator: Locator, declared: bool
    ) -> None:
        self.kernel, self.launches, self.declared = kernel, launches, declared
        self.grids = [grid_of(launch) for launch in launches]
        if min(map(min, self.grids)) < 1:
            raise GiveUp("no programs")
        self.programs = Programs(self.grids, seconds)
        self.memory = Memory(self.programs, locator.line)
        self.tensors: list[StackedTensor] = []
        self.shadows: list[dict[int, ShadowMemory]] = [{} for _ in launches]

    def traces(
        self, builder: Builder, functions: RewrittenFunctions, conditions: LockstepConditions
    ) -> list[Trace | None]:
        """The trace of each clean launch, with the conditions of the whole run; None for the others."""
        builder.begin(self.programs, self.memory)
        conditions.begin(self.programs)
        functions.get(self.kernel)(**arguments_of(self.kernel, self.launches, self._stack, self.programs.launch))
        if self.declared:
            self._doubt_unwritten()
        else:
            self._doubt_nan()
        first = self.programs.first
        flops, lane_flops = (
            np.add.reduceat(n, first).tolist() for n in (builder.flops_of_programs, builder.lane_flops_of_programs)
        )
        traffic = {tensor.name: tensor.traffic() for tensor in self.tensors}
        traces: list[Trace | None] = [None] * len(self.launches)
        seen = conditions.all()
        for i in self._clean():
            stores = {tensor.name: tensor.stores_of(i) for tensor in self.tensors if tensor.is_output}
            traces[i] = Trace(
                grid=self.grids[i],
                tensors={tensor.name: tensor.tensors[i].info for tensor in self.tensors},
                events=[],
                findings=[],
                traffic={name: of_launches[i] for name, of_launches in traffic.items()},
                writers={name: by for name, (by, _) in stores.items()},
                flops=flops[i],
                lane_flops=lane_flops[i],
                writer_lines={name: line for name, (_, line) in stores.items()},
                in_lockstep=True,
                conditions=seen,
            )
        return traces

    def write_back(self) -> None:
        """Change the outputs of the clean launches."""
        for tensor in self.tensors:
            if tensor.is_output:
                for i in self._clean():
                    tensor.write_back(i)

    def _clean(self) -> list[int]:
        clean: list[int] = np.flatnonzero(~self.programs.doubted).tolist()
        return clean

    def _stack(self, name: str, values: Sequence[torch.Tensor]) -> Pointer:
        number = len(self.tensors) + 1
        tensors = []
        for value, own in zip(values, self.shadows, strict=True):
            tensors.append(DeviceTensor(name, number, value, own))
            if len(own) != number:
                raise GiveUp("tensors that share their memory")
        is_output = name in self.launches[0].outputs or not self.declared
        self.tensors.append(StackedTensor(tensors, self.programs, is_output))
        return Pointer(self.tensors[-1], None)  # type: ignore[arg-type]

    def _doubt_nan(self) -> None:
        for tensor in self.tensors:
            for i in self._clean():
                self.programs.doubted[i] |= tensor.stores_nan(i)

    def _doubt_unwritten(self) -> None:
        for tensor in self.tensors:
            if tensor.is_output:
                for i in self._clean():
                    self.programs.doubted[i] |= tensor.is_unwritten(i)
