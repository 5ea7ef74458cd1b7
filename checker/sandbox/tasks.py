"""What a job is asked to do and what it answers, as messages. The answers come from beside foreign code: nothing in them is
believed but what their types promise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from checker.compiler import CompileRequest, CompileResult
from checker.gpu import Timing
from checker.puzzle import Scalar
from checker.sandbox.protocol import Message, ProtocolError, Words
from checker.simulator import trace_codec
from checker.simulator.trace import SimulateOptions, Trace
from checker.submission.kernel import KernelSource

LONGEST = 16_000
"""Characters of a message or of its details that a job sends."""
Count = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]

# ----------------------------------------------------------------------------------------------------------- to a job


class Ping(Message):
    """Start and end."""


class Compile(Message):
    """Compile every `CompileRequest` of the `AskedToCompile` that follow, each within `seconds` of processor time."""

    kernel: KernelSource
    seconds: float


class Simulate(Message):
    """Run all `Launches` that follow in the simulator, each launch within `seconds` of processor time."""

    kernel: KernelSource
    seconds: float


class RunOnGpu(Message):
    """Run all `Launches` that follow on the GPU, each launch within `seconds` by the clock."""

    kernel: KernelSource
    seconds: float


class TimeOnGpu(Message):
    """Time all `Launches` that follow."""

    kernel: KernelSource


Task = Ping | Compile | Simulate | RunOnGpu | TimeOnGpu


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


class AskedToCompile(Message):
    """One request after another. `aside`: from now on the job leaves the processors to others that want them."""

    requests: tuple[CompileRequest, ...]
    aside: bool = False


class LaunchArguments(msgspec.Struct):
    """A launch whose bytes lie in a shared file. `parameters` are in the launch's order."""

    grid: tuple[int, ...]
    parameters: tuple[str, ...]
    scalars: Mapping[str, Scalar]
    views: Mapping[str, View]
    meta: Mapping[str, Scalar]
    outputs: tuple[str, ...]
    options: Mapping[str, int]
    far: Mapping[str, tuple[int, ...]]
    skipped: tuple[int, int, int]
    begins: Mapping[str, int]
    storages: tuple[Storage, ...]


class Launches(Message):
    """One launch after another. A shared file of `size` bytes comes along; `simulate` is for the simulator."""

    launches: tuple[LaunchArguments, ...]
    size: int
    simulate: SimulateOptions = SimulateOptions()


# --------------------------------------------------------------------------------------------------------- from a job


class CompileReport(Message):
    """What came of request `number` of a job."""

    number: Count
    result: CompileResult


class LaunchReport(Message):
    """What came of launch `number` of a job: how it ended, on which line of the kernel's source, what was seen."""

    number: Count
    status: Literal["passed", "compile_error", "runtime_error", "timeout", "resource_limit"]
    message: Words = ""
    detail: Words = ""
    line: int | None = None
    seconds: Seconds = 0.0
    trace: memoryview | None = None
    timing: Timing | None = None


def longest_trace(launch: LaunchArguments) -> int:
    """Bytes of what may be seen of a launch: its events and findings, and a program and a line for each element."""
    return trace_codec.MAX_BYTES + 12 * sum(math.prod(view.shape) for view in launch.views.values())


def trace_from_bytes(data: memoryview, most: int = trace_codec.MAX_BYTES) -> Trace:
    """Raises ProtocolError where `data` is no trace, or longer than `most` bytes."""
    try:
        return trace_codec.decode(data, most)
    except trace_codec.MalformedTrace as error:
        raise ProtocolError(f"the trace is not one: {error}") from error
