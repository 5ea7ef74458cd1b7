"""Runs one launch of a kernel on the CPU, program after program."""

from __future__ import annotations

import inspect
import random
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from checker.puzzle import Launch
from checker.simulator import seam
from checker.simulator.builder import Builder
from checker.simulator.errors import SimulationError, translate
from checker.simulator.findings import Findings
from checker.simulator.frames import Frames
from checker.simulator.functions import Functions
from checker.simulator.language import Language
from checker.simulator.memory import Memory
from checker.simulator.operations.reductions import Reductions
from checker.simulator.recorder import Recorder
from checker.simulator.trace import SimulateOptions, Trace
from checker.simulator.values import Handle, Pointer


def simulate(kernel: Any, launch: Launch, options: SimulateOptions = SimulateOptions()) -> Trace:  # noqa: B008
    """Run `launch` of `kernel` on the CPU; the tensors in `launch.arguments` (on the CPU) are changed in place.

    `kernel` is a `@triton.jit` function; TRITON_INTERPRET need not be set. Programs run one after another in the order
    the options ask for. Nothing of Triton stays changed, and the kernel's module is not touched.

    Raises SimulationError where the kernel cannot be run to its end, with the learner's line.
    """
    try:
        jitted = seam.unwrap_kernel(kernel)
    except TypeError as error:
        raise SimulationError(str(error), "", None) from error
    grid = _grid(launch)
    frames = Frames()
    findings = Findings(frames, grid)
    recorder = Recorder(options, frames, findings)
    memory = Memory(recorder)
    builder = Builder(memory, findings.born if options.explain_nan else None)
    builder.grid = grid
    language = Language(builder, findings.undefined_branch)
    functions = Functions(frames, language)
    reductions = Reductions(builder, functions)
    try:
        with np.errstate(all="ignore"), language.patched(functions, reductions.reduce, reductions.scan):
            function = functions.get(jitted)
            frames.kernel = function.__code__
            arguments = _arguments(jitted, launch, memory)
            recorder.given = arguments
            for program in _programs(grid, options.order):
                builder.program = program
                memory.me = (program[2] * grid[1] + program[1]) * grid[0] + program[0]
                frames.start(program)
                function(**arguments)
    except SimulationError:
        raise
    except Exception as error:
        raise translate(error, _line(error, frames), frames.program, grid) from error
    findings.finish(memory.regions, launch.outputs)
    return Trace(
        grid=grid,
        tensors={r.name: r.info for r in memory.regions},
        events=recorder.events,
        findings=findings.told(),
        traffic=recorder.traffic(),
        writers={r.name: r.writer for r in memory.regions if r.name in launch.outputs},
        flops=builder.flops,
        lane_flops=builder.lane_flops,
        writer_lines={r.name: r.writer_line for r in memory.regions if r.name in launch.outputs},
        printed=tuple(builder.printed),
    )


def _grid(launch: Launch) -> tuple[int, int, int]:
    numbers = [int(n) for n in launch.grid]
    if not 1 <= len(numbers) <= 3 or any(n < 0 for n in numbers):
        raise SimulationError(f"A grid has one to three sizes, got {launch.grid}.", "", None)
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


def _programs(grid: tuple[int, int, int], order: str) -> Iterator[tuple[int, int, int]]:
    every = [(x, y, z) for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0])]
    if order == "reversed":
        every.reverse()
    elif order == "shuffled":
        random.Random(len(every)).shuffle(every)
    elif order != "row-major":
        raise SimulationError(f"No order of programs is called {order!r}.", "", None)
    return iter(every)


def _arguments(jitted: Any, launch: Launch, memory: Memory) -> dict[str, Any]:
    """Every parameter of the kernel as it sees it: tensors as pointers, numbers as scalars, constexprs as Python numbers."""
    parameters = inspect.signature(seam.function_of(jitted)).parameters
    given = {**launch.arguments, **launch.meta}
    unknown = [n for n in given if n not in parameters]
    if unknown:
        raise SimulationError(f"The kernel has no parameter {', '.join(unknown)}, but the launch passes it.", "", None)
    missing = [n for n, p in parameters.items() if n not in given and p.default is inspect.Parameter.empty]
    if missing:
        raise SimulationError(
            f"The kernel has a parameter {', '.join(missing)} that the launch does not pass.", "", None
        )
    constants = seam.constexpr_parameters(jitted)
    arguments: dict[str, Any] = {}
    for name, parameter in parameters.items():
        value = given.get(name, parameter.default)
        if isinstance(value, torch.Tensor):
            if value.device.type != "cpu":
                raise SimulationError(f"The simulator works on CPU tensors; {name} is on {value.device}.", "", None)
            region = memory.add(name, value, tuple(launch.far.get(name, ())))
            pointer = Handle(np.int64(region.base), None, pointer=Pointer(region, ()))
            arguments[name] = seam.pointer_argument(value, pointer)
        elif name in constants or name in launch.meta:
            arguments[name] = seam.unconst(value)
        else:
            arguments[name] = seam.number_argument(value)
    return arguments


def _line(error: BaseException, frames: Frames) -> int | None:
    """The innermost line of the learner that the error passed through."""
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code in frames.codes:
            found = line
    return found
