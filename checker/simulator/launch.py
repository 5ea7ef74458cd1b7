"""Runs one launch of a kernel on the CPU, program after program."""

from __future__ import annotations

import inspect
import random
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from checker.puzzle import Launch
from checker.simulator.builder import Builder
from checker.simulator.conditions import Conditions
from checker.simulator.errors import SimulationError, translate
from checker.simulator.findings import Findings
from checker.simulator.language import Language
from checker.simulator.location import Locator
from checker.simulator.memory import Memory
from checker.simulator.operations.reductions import Reductions
from checker.simulator.promises import Promises
from checker.simulator.races import RaceDetector
from checker.simulator.recorder import EventRecorder, TrafficCounter
from checker.simulator.rewrite import RewrittenFunctions
from checker.simulator.trace import SimulateOptions, Trace
from checker.simulator.triton_internals import (
    JITTED,
    constant_value,
    constexpr_parameters,
    function_of,
    number_argument,
    pointer_argument,
    stacked_numbers,
)
from checker.simulator.twins import TwinBuilder, TwinLanguage, TwinLocator, TwinMemory, TwinReductions, Twins
from checker.simulator.values import Handle, Pointer


@dataclass(frozen=True)
class _Kinds:
    """The parts of a simulator."""

    locator: type[Locator]
    memory: type[Memory]
    builder: type[Builder]
    language: type[Language]
    reductions: type[Reductions]


_PLAIN = _Kinds(Locator, Memory, Builder, Language, Reductions)
_WITH_TWINS = _Kinds(TwinLocator, TwinMemory, TwinBuilder, TwinLanguage, TwinReductions)


def simulate(kernel: Any, launch: Launch, options: SimulateOptions = SimulateOptions()) -> Trace:  # noqa: B008
    """Run `launch` of `kernel` on the CPU, one program after another, and return what `options` ask to observe.

    `kernel` is a `@triton.jit` function; TRITON_INTERPRET need not be set. Tensors in `launch.arguments` must be on the CPU and
    are changed in place. Triton and the kernel's module are left unchanged.

    Raises SimulationError, with the learner's line, if the kernel cannot run to its end.
    """
    if not isinstance(kernel, JITTED):
        raise SimulationError(f"expected a @triton.jit function, got {type(kernel).__name__}", "", None)
    grid = grid_of(launch)
    kinds = _PLAIN if launch.larger is None else _WITH_TWINS
    locator = kinds.locator()
    findings = Findings(locator, grid)
    traffic = TrafficCounter()
    recorder = EventRecorder(locator, options.state)
    observers = (
        *([traffic] if options.traffic else []),
        *([RaceDetector(findings)] if options.races else []),
        *([recorder] if options.events else []),
    )
    memory = kinds.memory(locator, findings, observers)
    builder = kinds.builder(memory, findings.nan_origin if options.explain_nan else None)
    builder.grid = grid
    twins = None if launch.larger is None else Twins(launch.larger, locator, findings).follow(locator, memory, builder)
    language = kinds.language(builder, Promises(findings.false_promise), findings.undefined_branch)
    conditions = Conditions()
    functions = RewrittenFunctions(locator, language, conditions)
    reductions = kinds.reductions(builder, functions)
    try:
        with np.errstate(all="ignore"), language.patched(functions, reductions.reduce, reductions.scan):
            function = functions.get(kernel)
            locator.kernel = function.__code__
            arguments = arguments_of(kernel, [launch], lambda name, own: Pointer(memory.add(name, own[0]), ()))
            recorder.arguments = arguments
            if twins is not None:
                twins.give(arguments)
            for program in _programs(grid, options.order, launch):
                builder.program = program
                locator.start(program)
                memory.start((program[2] * grid[1] + program[1]) * grid[0] + program[0])
                function(**arguments)
    except SimulationError:
        raise
    except Exception as error:
        raise translate(error, _line(error, locator), locator.program) from error
    findings.finish(memory.tensors, launch.outputs)
    outputs = [tensor for tensor in memory.tensors if tensor.name in launch.outputs]
    return Trace(
        grid=grid,
        tensors={t.name: t.info for t in memory.tensors},
        events=recorder.events,
        findings=findings.all(),
        traffic=traffic.traffic([t.name for t in memory.tensors]) if options.traffic else {},
        writers={t.name: t.writer for t in outputs},
        flops=builder.flops,
        lane_flops=builder.lane_flops,
        writer_lines={t.name: t.writer_line for t in outputs},
        printed=tuple(builder.printed),
        conditions=conditions.all(),
    )


def grid_of(launch: Launch) -> tuple[int, int, int]:
    numbers = [int(n) for n in launch.grid]
    if not 1 <= len(numbers) <= 3 or any(n < 0 for n in numbers):
        raise SimulationError(f"A grid has one to three sizes, got {launch.grid}.", "", None)
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


def _programs(grid: tuple[int, int, int], order: str, launch: Launch) -> Iterator[tuple[int, int, int]]:
    """With a larger launch to follow, only the first and the last along each axis."""
    xs, ys, zs = map(range, grid)
    if launch.larger is not None:
        xs, ys, zs = (axis[:: max(len(axis) - 1, 1)] for axis in (xs, ys, zs))
    every = [(x, y, z) for z in zs for y in ys for x in xs]
    if order == "reversed":
        every.reverse()
    elif order == "shuffled":
        random.Random(len(every)).shuffle(every)
    elif order != "row-major":
        raise SimulationError(f"No order of programs is called {order!r}.", "", None)
    return iter(every)


def arguments_of(
    kernel: Any,
    launches: Sequence[Launch],
    add: Callable[[str, Sequence[torch.Tensor]], Pointer],
    of_program: np.ndarray | None = None,
) -> dict[str, Any]:
    """The kernel's arguments as it sees them: tensors as pointers, numbers as scalars, constexprs as Python numbers.

    `add` takes the tensors of one parameter. If there are several launches, `of_program` has the launch of each program.
    """
    parameters = inspect.signature(function_of(kernel)).parameters
    given = [{**launch.arguments, **launch.meta} for launch in launches]
    unknown = [n for n in given[0] if n not in parameters]
    if unknown:
        raise SimulationError(f"The kernel has no parameter {', '.join(unknown)}, but the launch passes it.", "", None)
    missing = [n for n, p in parameters.items() if n not in given[0] and p.default is inspect.Parameter.empty]
    if missing:
        raise SimulationError(
            f"The kernel has a parameter {', '.join(missing)} that the launch does not pass.", "", None
        )
    constants = constexpr_parameters(kernel) | launches[0].meta.keys()
    arguments: dict[str, Any] = {}
    for name, parameter in parameters.items():
        values = [of_launch.get(name, parameter.default) for of_launch in given]
        if isinstance(values[0], torch.Tensor):
            pointer = add(name, values)
            assert pointer.tensor is not None
            arguments[name] = pointer_argument(values[0], Handle(np.int64(pointer.tensor.base), None, pointer=pointer))
        elif name not in constants:
            arguments[name] = stacked_numbers([number_argument(value) for value in values], of_program)
        elif all(value == values[0] for value in values):
            arguments[name] = constant_value(values[0])
        else:
            raise ValueError(f"the launches have different constants {name}")
    return arguments


def _line(error: BaseException, locator: Locator) -> int | None:
    """The innermost line of the learner that the error passed through."""
    innermost = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code in locator.functions:
            innermost = line
    return innermost
