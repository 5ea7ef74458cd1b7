"""Runs one launch of a kernel on the CPU, program after program."""

from __future__ import annotations

import inspect
import random
import traceback
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np
import torch

from checker.puzzle import Launch
from checker.simulator import rewrite, seam
from checker.simulator.builder import Builder
from checker.simulator.errors import SimulationError, translate
from checker.simulator.findings import Findings
from checker.simulator.frames import Frames
from checker.simulator.language import Language
from checker.simulator.memory import Memory
from checker.simulator.operations.reductions import Reductions
from checker.simulator.recorder import Recorder, _Count
from checker.simulator.trace import SimulateOptions, Trace
from checker.simulator.values import Handle, Pointer


@lru_cache(maxsize=512)
def _compiled(lines: tuple[str, ...], first_line: int, filename: str, name: str, follow: bool) -> CodeType:
    return rewrite.rewrite(list(lines), first_line, filename, name, follow)


class _Hooks:
    """What a rewritten function reaches under `rewrite.HOOKS`."""

    def __init__(self, language: Language, follower: Frames) -> None:
        self.value = language.value
        self.both, self.either, self.opposite = language.both, language.either, language.opposite
        self.check = language.check
        self.loop, self.enter, self.turn, self.leave = follower.loop, follower.enter, follower.turn, follower.leave


class _Functions:
    """The jitted functions of one launch, rewritten when first called. Nothing is kept from earlier launches."""

    def __init__(self, follower: Frames) -> None:
        self.follower = follower
        self.ready: dict[int, tuple[Any, Any]] = {}
        self.language: Language

    def __call__(self, jitted: Any, *arguments: Any, **named: Any) -> Any:
        depth = len(self.follower.stack)
        named.pop("_semantic", None)
        try:
            return self.get(jitted)(*arguments, **named)
        finally:
            del self.follower.stack[depth:]

    def get(self, jitted: Any) -> Any:
        found = self.ready.get(id(jitted))
        if found is not None:
            return found[1]
        fn = jitted.fn
        library = str(fn.__module__).startswith("triton.")
        lines, first = seam.source_of(jitted)
        code = _compiled(tuple(lines), first, fn.__code__.co_filename, fn.__name__, not library)
        given = dict(fn.__globals__)
        given.update(inspect.getclosurevars(fn).nonlocals if fn.__closure__ else {})
        namespace = given if library else self.language.namespace(given)
        namespace[rewrite.HOOKS] = _Hooks(self.language, self.follower)
        function = rewrite.instantiate(code, fn, namespace)
        if not library:
            self.follower.codes[function.__code__] = fn.__name__
        self.ready[id(jitted)] = (jitted, function)
        return function


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
    follower = Frames()
    findings = Findings(follower, grid)
    recorder = Recorder(options, follower, findings)
    memory = Memory(recorder)
    builder = Builder(memory, findings.born if options.explain_nan else None)
    builder.grid = grid
    functions = _Functions(follower)
    language = Language(builder, functions, findings.undefined_branch)
    functions.language = language
    reductions = Reductions(builder, functions)
    try:
        with np.errstate(all="ignore"), language.patched(reductions.reduce, reductions.scan):
            function = functions.get(jitted)
            follower.kernel = function.__code__
            arguments = _arguments(jitted, launch, memory, recorder)
            recorder.given = arguments
            for program in _programs(grid, options.order):
                builder.program = program
                memory.me = (program[2] * grid[1] + program[1]) * grid[0] + program[0]
                follower.start(program)
                function(**arguments)
    except SimulationError:
        raise
    except Exception as error:
        raise translate(error, _line(error, follower), follower.program, grid) from error
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


def _arguments(jitted: Any, launch: Launch, memory: Memory, recorder: Recorder) -> dict[str, Any]:
    """Every parameter of the kernel as it sees it: tensors as pointers, numbers as scalars, constexprs as Python numbers."""
    parameters = inspect.signature(jitted.fn).parameters
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
            recorder.counts[name] = _Count()
            pointer = Handle(np.int64(region.base), None, pointer=Pointer(region, ()))
            arguments[name] = seam.pointer_argument(value, pointer)
        elif name in constants or name in launch.meta:
            arguments[name] = seam.unconst(value)
        else:
            arguments[name] = seam.number_argument(value)
    return arguments


def _line(error: BaseException, follower: Frames) -> int | None:
    """The innermost line of the learner that the error passed through."""
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code in follower.codes:
            found = line
    return found
