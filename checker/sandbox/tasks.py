"""What a job gets for its task and what it answers, as messages. Answers may come from untrusted code: believe only their types."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from checker.compiler import CompileRequest, CompileResult
from checker.gpu import Timing
from checker.judge.runner import CallReport
from checker.puzzle import Larger, Scalar
from checker.sandbox.protocol import Message, ProtocolError, Words
from checker.simulator import trace_codec
from checker.simulator.trace import SimulateOptions, Trace

LONGEST = 16_000
"""The most characters of a message or its details that a job sends."""
Count = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]


# ----------------------------------------------------------------------------------------------------------- to a job


class MoreCompilations(Message):
    """`aside`: from now on the job leaves the processors to others that want them."""

    requests: tuple[CompileRequest, ...]
    aside: bool = False


class Storage(msgspec.Struct):
    """Where one storage lies in the shared file, in bytes."""

    offset: int
    size: int


class View(msgspec.Struct):
    """One tensor: `shape`, `strides` and `offset` in elements of `dtype`, within storage number `storage`."""

    storage: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class LaunchArguments(msgspec.Struct):
    """A launch (see `checker.puzzle.Launch`) whose bytes are in a shared file."""

    grid: tuple[int, ...]
    arguments: Mapping[str, View | Scalar]
    storages: tuple[Storage, ...]
    meta: Mapping[str, Scalar]
    outputs: tuple[str, ...]
    options: Mapping[str, int]
    larger: Larger | None

    @property
    def views(self) -> dict[str, View]:
        return {name: value for name, value in self.arguments.items() if isinstance(value, View)}


class Launches(Message):
    """A shared file of `size` bytes comes along as a descriptor, or is at the path `file`; `simulate` is for the simulator."""

    launches: tuple[LaunchArguments, ...]
    size: int
    simulate: SimulateOptions = SimulateOptions()
    file: str = ""


# --------------------------------------------------------------------------------------------------------- from a job


class CompileReport(Message):
    """The result of a job's request `number`."""

    number: Count
    result: CompileResult


class LaunchReport(Message):
    """How a job's launch `number` ended, on which line of the kernel's source, and what the simulator or the clock saw."""

    number: Count
    status: Literal["passed", "compile_error", "runtime_error", "timeout", "resource_limit"]
    message: Words = ""
    detail: Words = ""
    line: int | None = None
    seconds: Seconds = 0.0
    trace: memoryview | None = None
    timing: Timing | None = None
    called: CallReport | None = None


def longest_trace(launch: LaunchArguments) -> int:
    """The most bytes in a launch's trace: its events and findings, and a program and a line for each element."""
    return trace_codec.MAX_BYTES + 8 * sum(math.prod(view.shape) for view in launch.views.values())


def trace_from_bytes(data: memoryview, most: int = trace_codec.MAX_BYTES) -> Trace:
    """Raises ProtocolError if `data` is not a trace, or is longer than `most` bytes."""
    try:
        return trace_codec.decode(data, most)
    except trace_codec.MalformedTrace as error:
        raise ProtocolError(f"its trace cannot be read: {error}") from error
