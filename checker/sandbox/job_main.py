"""What a job does once it is isolated: compile, simulate, launch or time one kernel, and say what came out of it.

This runs beside foreign code, so the trusted side believes nothing it sends unchecked (`tasks.py`).
"""

from __future__ import annotations

import contextlib
import faulthandler
import itertools
import json
import linecache
import math
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from checker import gpu
from checker.compiler import CompileRequest, CompileResult, compile_kernel
from checker.puzzle import Launch
from checker.sandbox.protocol import Channel, JobStarted, decode
from checker.sandbox.shared_memory import attach
from checker.sandbox.tasks import (
    LONGEST,
    AskedToCompile,
    Compile,
    CompileReport,
    Launches,
    LaunchReport,
    Ping,
    RunOnGpu,
    Simulate,
    Task,
    TimeOnGpu,
)
from checker.simulator import SimulateOptions, Trace, simulate, simulate_together, trace_codec
from checker.submission.load import load_kernel

_ASIDE = 5
"""A third of the processor time that others get who want it too."""


def run(channel: Channel, folder: Path, task: msgspec.Raw) -> None:
    """All of a job. `task` comes from the trusted side."""
    faulthandler.enable(sys.stderr)
    asked: Task = decode(Task, task)  # type: ignore[arg-type]
    if isinstance(asked, RunOnGpu):
        gpu.initialise()
    channel.send(JobStarted())
    if isinstance(asked, Compile):
        _compile(channel, folder, asked)
    elif not isinstance(asked, Ping):
        _launches(channel, folder, asked)


# ------------------------------------------------------------------------------------------------------------- compile


def _compile(channel: Channel, folder: Path, task: Compile) -> None:
    function: Any = None
    for number, request in enumerate(_requests(channel)):
        began, used_below = time.perf_counter(), _children_seconds()
        _allow(task.seconds)
        try:
            function = function or load_kernel(task.kernel, folder)
            result = compile_kernel(function, request)
        except (Exception, SystemExit) as error:
            told = _failure(number, error, folder)
            result = CompileResult(
                request,
                ok=False,
                kind="other",
                message=told.message,
                raw=told.detail,
                line=told.line,
                seconds=time.perf_counter() - began,
                status="resource_limit" if told.status == "resource_limit" else "compile_error",
            )
        if not result.ok and _children_seconds() - used_below >= task.seconds:
            # the assembler was ended by its limit; Triton only says "failed"
            result = replace(result, status="timeout")
        result = replace(result, message=result.message[:LONGEST], raw=result.raw[:LONGEST])
        channel.send(CompileReport(number, result))


def _requests(channel: Channel) -> Iterator[CompileRequest]:
    """Until nothing more is asked for: then `Closed` ends the job."""
    while True:
        message = channel.receive_with_fds(AskedToCompile)[0]
        if message.aside:
            os.nice(_ASIDE)
        yield from message.requests


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


# ------------------------------------------------------------------------------------------------------------ launches


def _launches(channel: Channel, folder: Path, task: Simulate | RunOnGpu | TimeOnGpu) -> None:
    function: Any = None
    if isinstance(task, RunOnGpu):
        adopt_compiled(Path(os.environ["TRITON_CACHE_DIR"]))
    launches: list[Launch] = []
    seen: list[Trace | None] = []
    for number in itertools.count():
        if not launches:
            message, fds = channel.receive_with_fds(Launches)  # Closed, when nothing more is asked for, ends the job
            launches += attach(message, fds[0])
            seen = [None] * len(launches)
            if isinstance(task, Simulate) and message.simulate == SimulateOptions(together=True):
                function, seen = _together(function, folder, task, launches)
        launch, trace = launches.pop(0), seen.pop(0)
        began = time.perf_counter()
        try:
            with _time_limit(channel, folder, number, task):
                function = function or load_kernel(task.kernel, folder)
                if isinstance(task, Simulate):
                    trace = trace or simulate(function, launch, message.simulate)
                elif isinstance(task, RunOnGpu):
                    gpu.launch_kernel(function, launch, in_place=True)
            timing = gpu.time_kernel(function, launch) if isinstance(task, TimeOnGpu) else None
            report = LaunchReport(number, "passed", seconds=time.perf_counter() - began, timing=timing)
        except (Exception, SystemExit) as error:
            report = _failure(number, error, folder)
        del launch  # its memory is the other side's now
        if trace is not None and report.status == "passed":
            report = msgspec.structs.replace(report, trace=memoryview(trace_codec.encode(trace)))
        channel.send(report)
        if report.status != "passed":
            return


def _together(function: Any, folder: Path, task: Simulate, launches: list[Launch]) -> tuple[Any, list[Trace | None]]:
    """The kernel, and a trace of each launch in which nothing is found. A kernel that cannot be loaded is told of by its first launch.

    Where it takes much longer than it may, the process ends without a word: that says nothing about any launch.
    """
    try:
        with _Timer(None, folder, 0, 2 * task.seconds, by_clock=False):
            function = function or load_kernel(task.kernel, folder)
            return function, simulate_together(function, launches, task.seconds)
    except (Exception, SystemExit):
        return None, [None] * len(launches)


def adopt_compiled(cache: Path) -> None:
    """Make Triton's cache usable that other jobs filled: it names files by their full path, and they lay in another folder."""
    for group in cache.glob("*/__grp__*"):
        with contextlib.suppress(OSError, ValueError, KeyError, AttributeError):  # then it is compiled again
            names = json.loads(group.read_text())["child_paths"]
            group.write_text(json.dumps({"child_paths": {name: str(group.parent / name) for name in names}}))


def _time_limit(
    channel: Channel, folder: Path, number: int, task: Simulate | RunOnGpu | TimeOnGpu
) -> AbstractContextManager[None]:
    if isinstance(task, TimeOnGpu):  # whoever waits for it has a clock
        return nullcontext()
    return _Timer(channel, folder, number, task.seconds, by_clock=isinstance(task, RunOnGpu))


class _Timer(AbstractContextManager[None]):
    """Stops the work on one launch from inside, where the kernel's current line is known.

    It answers and leaves the process at once instead of raising: what lies between might catch an exception.
    """

    def __init__(self, channel: Channel | None, folder: Path, number: int, seconds: float, *, by_clock: bool) -> None:
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
        if self._channel is not None:
            self._channel.send(LaunchReport(self._number, "timeout", line=line, seconds=self._seconds))
        os._exit(0)


def _failure(number: int, error: BaseException, folder: Path) -> LaunchReport:
    """An exception as a report. The rooms' own errors carry their words; any other gets its type and the kernel's line."""
    linecache.checkcache()
    detail = "".join(traceback.format_exception(error))[-LONGEST:].replace(str(folder) + os.sep, "")
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(str(folder))]
    line = lines[-1] if lines else getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        message = "The kernel asked for more memory than it may use."
        return LaunchReport(number, "resource_limit", message, detail, line)
    status = getattr(error, "status", None)
    if status in ("compile_error", "runtime_error", "timeout", "resource_limit") and hasattr(error, "message"):
        own = getattr(error, "line", None)
        said = str(getattr(error, "detail", "") or detail)
        line = own if isinstance(own, int) else line
        return LaunchReport(number, status, str(error.message)[:LONGEST], said[:LONGEST], line)
    if isinstance(error, SystemExit):
        return LaunchReport(number, "runtime_error", "The kernel ended the process it ran in.", detail, line)
    message = f"The kernel raised {type(error).__name__}: {error}"
    return LaunchReport(number, "runtime_error", message[:LONGEST], detail, line)
