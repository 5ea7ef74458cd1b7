"""Runs one launch of a kernel on the CPU, program after program."""

from __future__ import annotations

import inspect
import math
import random
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch

from checker.puzzle import Launch
from checker.simulator.builder import Builder
from checker.simulator.conditions import Conditions
from checker.simulator.errors import Enough, SimulationError, translate
from checker.simulator.findings import Findings
from checker.simulator.language import Language
from checker.simulator.location import Locator
from checker.simulator.memory import Memory
from checker.simulator.operations.reductions import Reductions
from checker.simulator.promises import Promises
from checker.simulator.races import RaceDetector
from checker.simulator.recorder import EventRecorder, Observer, TrafficCounter
from checker.simulator.rewrite import RewrittenFunctions
from checker.simulator.trace import ProgramId, SimulateOptions, Trace
from checker.simulator.triton_internals import (
    JITTED,
    annotated_type,
    constant_value,
    constexpr_parameters,
    descriptor_argument,
    function_of,
    is_descriptor,
    number_argument,
    parameters_of,
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


def simulate(
    kernel: Any,
    launch: Launch,
    options: SimulateOptions = SimulateOptions(),  # noqa: B008
    watchers: Sequence[Observer] = (),
    locator: Locator | None = None,
) -> Trace:
    """Run `launch` of `kernel` on the CPU, one program after another, and return what `options` ask to observe.

    `kernel` is a `@triton.jit` function; TRITON_INTERPRET need not be set. Tensors in `launch.arguments` must be on the CPU and
    are changed in place. Triton and the kernel's module are left unchanged. `watchers` follow the launch too; if one raises Enough,
    only the last program still runs. A `locator` of the caller says afterwards where the launch stopped, also if it was interrupted.

    Raises SimulationError, with the learner's line, if the kernel cannot run to its end.
    """
    if not isinstance(kernel, JITTED):
        raise SimulationError(f"expected a @triton.jit function, got {type(kernel).__name__}", "", None)
    grid = grid_of(launch)
    kinds = _PLAIN if launch.larger is None else _WITH_TWINS
    locator = locator or kinds.locator()
    findings = Findings(locator, grid)
    traffic = TrafficCounter()
    recorder = EventRecorder(locator, options.state)
    observers = (
        *([traffic] if options.traffic else []),
        *([RaceDetector(findings)] if options.races else []),
        *([recorder] if options.events else []),
        *watchers,
    )
    memory = kinds.memory(locator, findings, observers)
    memory.marks_given = options.explain_inf
    builder = kinds.builder(memory, findings.nan_origin if options.explain_nan else None, options.explain_inf)
    builder.grid = grid
    twins = None if launch.larger is None else Twins(launch.larger, locator, findings).follow(locator, memory, builder)
    language = kinds.language(builder, Promises(findings.false_promise), memory.branch)
    conditions = Conditions()
    functions = RewrittenFunctions(locator, language, conditions)
    reductions = kinds.reductions(builder, functions)
    ran, programs = 0, _programs(grid, options, launch)
    try:
        with np.errstate(all="ignore"), language.patched(functions, reductions.reduce, reductions.scan):
            function = functions.get(kernel)
            locator.kernel = function.__code__
            arguments = arguments_of(kernel, [launch], lambda name, own: Pointer(memory.add(name, own[0]), ()))
            recorder.arguments = arguments
            if twins is not None:
                twins.give(arguments)
            last = grid[0] - 1, grid[1] - 1, grid[2] - 1
            while (program := next(programs, None)) is not None:
                builder.program = program
                locator.start(program)
                try:
                    memory.start((program[2] * grid[1] + program[1]) * grid[0] + program[0])
                    function(**arguments)
                except Enough:  # of all but the last program, which tends to differ
                    programs = iter([last] if program != last else [])
                    continue
                ran += 1
    except SimulationError:
        raise
    except Exception as error:
        raise translate(error, line_of(error, locator), locator.program) from error
    whole = ran == math.prod(grid) or launch.larger is not None
    findings.finish(memory.tensors, launch.outputs, whole)
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
        ran=None if whole else ran,
    )


def grid_of(launch: Launch) -> tuple[int, int, int]:
    numbers = [int(n) for n in launch.grid]
    if not 1 <= len(numbers) <= 3 or any(n < 0 for n in numbers):
        raise SimulationError(f"A grid has one to three sizes, got {launch.grid}.", "", None)
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


def _programs(grid: ProgramId, options: SimulateOptions, launch: Launch) -> Iterator[ProgramId]:
    """If a larger launch follows, only the first and last along each axis, and the second along all: the last may have no work."""
    xs, ys, zs = map(range, grid)
    order, most, count = options.order, options.most_programs, math.prod(grid)
    if 0 < most < count:
        first, last = min(most - most // 4, count), most // 4
        drawn = random.Random(count).sample(range(first // 2, count - last), first - first // 2)
        chosen = [*range(first // 2), *sorted(drawn), *range(count - last, count)]
        return iter([(i % grid[0], i // grid[0] % grid[1], i // (grid[0] * grid[1])) for i in chosen])
    if launch.larger is not None:
        ends = (axis[:: max(len(axis) - 1, 1)] for axis in (zs, ys, xs))
        second = min(1, xs[-1]), min(1, ys[-1]), min(1, zs[-1])
        return iter(dict.fromkeys([*((x, y, z) for z, y, x in product(*ends)), second]))
    in_order = ((x, y, z) for z in zs for y in ys for x in xs)
    if order == "row-major":
        return in_order
    every = list(in_order)
    if order == "reversed":
        every.reverse()
    elif order == "shuffled":
        random.Random(len(every)).shuffle(every)
    else:
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
    parameters = parameters_of(function_of(kernel))
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
        tensors = [value.base if is_descriptor(value) else value for value in values]
        if isinstance(tensors[0], torch.Tensor):
            pointer = add(name, tensors)
            assert pointer.tensor is not None
            made = pointer_argument(tensors[0], Handle(np.int64(pointer.tensor.base), None, pointer=pointer))
            arguments[name] = descriptor_argument(made, values[0]) if is_descriptor(values[0]) else made
        elif name not in constants:
            type_ = annotated_type(kernel, name)
            arguments[name] = stacked_numbers([number_argument(value, type_) for value in values], of_program)
        elif all(value == values[0] for value in values):
            arguments[name] = constant_value(values[0])
        else:
            raise ValueError(f"the launches have different constants {name}")
    return arguments


def line_of(error: BaseException, locator: Locator) -> int | None:
    """The innermost line of the learner that the error passed through."""
    innermost = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code in locator.functions:
            innermost = line
    return innermost
