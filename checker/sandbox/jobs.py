"""What a job does once its walls stand: compile, simulate or launch one kernel, and say what came out of it.

This runs beside foreign code, so nothing it sends is believed without being checked on the other side (`answers.py`).
"""

from __future__ import annotations

import faulthandler
import itertools
import linecache
import math
import os
import resource
import signal
import sys
import time
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal

from checker.sandbox import codec
from checker.sandbox.tensors import attach
from checker.sandbox.wire import Channel
from checker.simulator.trace import SimulateOptions, Trace
from checker.submission.kernel import KernelSource

if TYPE_CHECKING:
    from triton import JITFunction

    from checker.puzzle import Launch

_LONGEST = 16_000


@dataclass(frozen=True)
class Outcome:
    """How one launch ended, as the job tells it."""

    status: Literal["passed", "compile_error", "runtime_error", "timeout", "resource_limit"]
    message: str = ""
    detail: str = ""
    line: int | None = None
    seconds: float = 0.0


def run(channel: Channel, folder: Path, spec: dict[str, Any]) -> None:
    """The body of a job. `spec` comes from the trusted side: ``kind``, ``kernel``, and what the kind needs."""
    faulthandler.enable(sys.stderr)
    if spec["kind"] == "nothing":
        channel.send({"type": "ready"})
        return
    kernel: KernelSource = codec.decode(KernelSource, spec["kernel"], ())
    if spec["kind"] == "launch":
        from checker import gpu

        gpu.initialise()
    channel.send({"type": "ready"})
    match spec["kind"]:
        case "compile":
            _compile(channel, folder, kernel, spec)
        case "simulate":
            options = codec.decode(SimulateOptions, spec["options"], ())
            _launches(channel, folder, kernel, spec, lambda fn, launch: _simulate(fn, launch, options))
        case "launch":
            _launches(channel, folder, kernel, spec, _launch)
        case "time":
            _time(channel, folder, kernel, spec)


def _load(kernel: KernelSource, folder: Path) -> JITFunction:
    from checker.submission.load import load_kernel

    return load_kernel(kernel, folder)


def _compile(channel: Channel, folder: Path, kernel: KernelSource, spec: dict[str, Any]) -> None:
    from checker import compiler

    function: JITFunction | None = None
    for number, body in enumerate(spec["requests"]):
        request = codec.decode(compiler.CompileRequest, body, ())
        began, used_below = time.perf_counter(), _children_seconds()
        _allow(spec["seconds"])
        try:
            function = function or _load(kernel, folder)
            result = compiler.compile_kernel(function, request)
        except (Exception, SystemExit) as error:
            outcome = _failure(error, folder)
            status = "resource_limit" if outcome.status == "resource_limit" else "compile_error"
            result = compiler.CompileResult(
                request,
                ok=False,
                kind="other",
                message=outcome.message,
                raw=outcome.detail,
                line=outcome.line,
                seconds=time.perf_counter() - began,
                status=status,
            )
        if not result.ok and _children_seconds() - used_below >= spec["seconds"]:
            result = replace(
                result, status="timeout"
            )  # the assembler was ended by its limit; Triton only says "failed"
        blobs: list[memoryview] = []
        channel.send({"type": "result", "number": number, "result": codec.encode(result, blobs)}, blobs)


def _allow(seconds: float) -> None:
    """From here on this process, and each that it starts, ends when it has used so much more processor time.

    By the kernel's own count, since a compiler that loops in C++ lets no Python handler run.
    """
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = math.ceil(used + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _children_seconds() -> float:
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def _launches(channel: Channel, folder: Path, kernel: KernelSource, spec: dict[str, Any], work: Any) -> None:
    function: JITFunction | None = None
    for number in itertools.count():
        frame = channel.receive()  # Closed, when nothing more is asked for, ends the job
        timer = _Timer(channel, folder, number, spec["seconds"], by_clock=spec["kind"] != "simulate")
        launch: Launch | None = None
        trace: Trace | None = None
        began = time.perf_counter()
        try:
            launch = attach(frame.body["launch"], frame.fds[0])
            with timer:
                function = function or _load(kernel, folder)
                trace = work(function, launch)
            outcome = Outcome("passed", seconds=time.perf_counter() - began)
        except (Exception, SystemExit) as error:
            outcome = _failure(error, folder)
        launch = None  # its memory is the other side's now
        _send(channel, number, outcome, trace)
        if outcome.status != "passed":
            return


def _simulate(function: JITFunction, launch: Launch, options: SimulateOptions) -> Trace:
    from checker.simulator import simulate

    return simulate(function, launch, options)


def _launch(function: JITFunction, launch: Launch) -> None:
    from checker import gpu

    gpu.launch_kernel(function, launch, in_place=True)


def _time(channel: Channel, folder: Path, kernel: KernelSource, spec: dict[str, Any]) -> None:
    from checker import gpu

    function: JITFunction | None = None
    for number in itertools.count():
        frame = channel.receive()
        body: dict[str, Any] = {"type": "result", "number": number}
        try:
            launch = attach(frame.body["launch"], frame.fds[0])
            function = function or _load(kernel, folder)
            timing = gpu.time_kernel(function, launch)
            body |= {"outcome": codec.encode(Outcome("passed"), []), "timing": codec.encode(timing, [])}
        except (Exception, SystemExit) as error:
            body["outcome"] = codec.encode(_failure(error, folder), [])
        channel.send(body)


def _send(channel: Channel, number: int, outcome: Outcome, trace: Trace | None = None) -> None:
    from checker.simulator import trace_codec

    body: dict[str, Any] = {"type": "result", "number": number, "outcome": codec.encode(outcome, []), "trace": None}
    if trace is None:
        channel.send(body)
        return
    channel.send(body | {"trace": "blob 0"}, [trace_codec.encode(trace)])


class _Timer:
    """Stops the work on one launch from inside, where the kernel's current line is known.

    It answers and leaves the process at once instead of raising: what lies between might catch an exception.
    """

    def __init__(self, channel: Channel, folder: Path, number: int, seconds: float, *, by_clock: bool) -> None:
        self._channel, self._folder, self._number, self._seconds = channel, folder, number, seconds
        self._which, self._signal = (
            (signal.ITIMER_REAL, signal.SIGALRM) if by_clock else (signal.ITIMER_PROF, signal.SIGPROF)
        )

    def __enter__(self) -> None:
        signal.signal(self._signal, self._ring)
        signal.setitimer(self._which, self._seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(self._which, 0)

    def _ring(self, number: int, frame: FrameType | None) -> None:
        stack = traceback.StackSummary.extract(traceback.walk_stack(frame), lookup_lines=False)
        line = next((f.lineno for f in stack if f.filename.startswith(str(self._folder))), None)
        _send(self._channel, self._number, Outcome("timeout", line=line, seconds=self._seconds))
        os._exit(0)


def _failure(error: BaseException, folder: Path) -> Outcome:
    """An exception as an outcome. The rooms' own errors carry their words; any other gets its type and the kernel's line."""
    linecache.checkcache()
    detail = "".join(traceback.format_exception(error))[-_LONGEST:].replace(str(folder) + os.sep, "")
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(str(folder))]
    line = lines[-1] if lines else getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return Outcome("resource_limit", "The kernel asked for more memory than it may use.", detail, line)
    status = getattr(error, "status", None)
    if status in ("compile_error", "runtime_error", "timeout", "resource_limit") and hasattr(error, "message"):
        own = getattr(error, "line", None)
        return Outcome(
            status,
            str(error.message)[:_LONGEST],
            str(getattr(error, "detail", "") or detail)[:_LONGEST],
            own if isinstance(own, int) else line,
        )
    if isinstance(error, SystemExit):
        return Outcome("runtime_error", "The kernel ended the process it ran in.", detail, line)
    return Outcome("runtime_error", f"The kernel raised {type(error).__name__}: {error}"[:_LONGEST], detail, line)
