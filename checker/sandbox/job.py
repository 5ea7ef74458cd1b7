"""What a job does once it is isolated: compile, simulate, launch or time one kernel, or call a function, and report the result.

It runs beside untrusted code, so the trusted side checks everything it sends (`tasks.py`).
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import itertools
import json
import linecache
import math
import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import triton
import triton.backends.nvidia.compiler
import triton.language as tl

from checker import gpu
from checker.compiler import CompileRequest, compile_kernel, not_compiled
from checker.compiler.errors import explanations
from checker.pure_triton import has_compiler
from checker.puzzle import Launch
from checker.sandbox.protocol import Channel, JobStarted, Task, decoder
from checker.sandbox.shared_memory import attach
from checker.sandbox.tasks import LONGEST, CompileReport, Launches, LaunchReport, MoreCompilations
from checker.sandbox.watch import Excess, Watch
from checker.simulator import SimulateOptions, Trace, simulate, simulate_together, trace_codec
from checker.submission.load import ENTRY, load_kernel, load_module

_TOO_MUCH_MEMORY = "The kernel asked for more memory than it may use."
_ALLOCATED = 50_000
"""New objects between two garbage collections. A job makes many, with hardly any reference cycles."""
_ASIDE = 5  # nice: a third of the processor time of others that want it, too


@triton.jit
def _warm_kernel(x_ptr, y_ptr, N, BLOCK_N: tl.constexpr):  # type: ignore[no-untyped-def]
    offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
    tl.store(y_ptr + offs_n, tl.exp(x - tl.max(x, axis=0)), mask=mask)


def warm_up(folder: Path) -> None:
    """In the worker, before any job: do what a cold compiler and simulator need a second for. `folder` takes Triton's cache.

    Leaves a single thread, so that a fork is safe, and does not touch CUDA.
    """
    torch.set_num_threads(1)
    for kind in (MoreCompilations, Launches):
        decoder(kind)
    os.environ["TRITON_CACHE_DIR"] = str(folder / "warm")
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "N": "i32"}
    launch = Launch((1,), {"x_ptr": torch.zeros(5), "y_ptr": torch.zeros(5), "N": 5}, {"BLOCK_N": 8}, ("y_ptr",))
    request = CompileRequest(80, signature, {"BLOCK_N": 128}, {"num_warps": 4})
    explanations()
    # if one of these fails, the first job is slower and reports what is wrong
    with contextlib.suppress(Exception):
        compile_kernel(_warm_kernel, replace(request, until="machine_code" if has_compiler() else "front_end"))
    with contextlib.suppress(Exception):
        simulate(_warm_kernel, launch, SimulateOptions())
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATED)


def run(channel: Channel, folder: Path, task: Task, memory: int | None = None) -> None:
    """A whole job. `Closed` ends it when no more work comes.

    `memory` bounds it in bytes where it has no process of its own, which the system could limit for it.
    """
    faulthandler.enable(sys.stderr)
    if task.work in ("launch", "call_on_gpu"):
        gpu.initialise()
    channel.send(JobStarted())
    if task.work == "compile":
        _compile(channel, folder, task, memory)
    else:
        _launches(channel, folder, task, memory)


def _compile(channel: Channel, folder: Path, task: Task, memory: int | None) -> None:
    function: Any = None
    forked = memory is None
    for number, request in enumerate(_requests(channel)):
        began, used_below = time.perf_counter(), _children_seconds() if forked else 0.0
        if forked:
            _allow(task.seconds)
            watch: AbstractContextManager[None] = nullcontext()
        else:
            watch = Watch(partial(_stop_compiling, channel, number, request), folder, task.seconds, memory=memory)
        try:
            with watch:
                function = function or load_kernel(task.kernel, folder)
                result = compile_kernel(function, request)
        except (Exception, SystemExit) as error:
            failure = _failure(number, error, folder)
            status = "resource_limit" if failure.status == "resource_limit" else "compile_error"
            result = not_compiled(request, status, failure.message, failure.detail)
            result = replace(result, line=failure.line, seconds=time.perf_counter() - began)
        if forked and not result.ok and _children_seconds() - used_below >= task.seconds:
            # the assembler reached its limit; Triton only says "failed"
            result = replace(result, status="timeout")
        result = replace(result, message=result.message[:LONGEST], raw=result.raw[:LONGEST])
        channel.send(CompileReport(number, result))


def _stop_compiling(channel: Channel, number: int, request: CompileRequest, excess: Excess, line: int | None) -> None:
    channel.send(CompileReport(number, replace(not_compiled(request, excess, ""), line=line)))


def _requests(channel: Channel) -> Iterator[CompileRequest]:
    while True:
        message = channel.receive_with_fds(MoreCompilations)[0]
        if message.aside:
            os.nice(_ASIDE)
        yield from message.requests


def _allow(seconds: float) -> None:
    """Let this process, and each one it starts, use so much more processor time.

    The kernel counts it, because a compiler that loops in C++ runs no Python signal handler.
    """
    import resource

    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = math.ceil(used + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _children_seconds() -> float:
    import resource

    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def _launches(channel: Channel, folder: Path, task: Task, memory: int | None) -> None:
    function: Any = None
    if task.work == "launch":
        adopt_compiled(Path(os.environ["TRITON_CACHE_DIR"]))
    launches: list[Launch] = []
    traces: list[Trace | None] = []
    for number in itertools.count():
        if not launches:
            message, fds = channel.receive_with_fds(Launches)
            launches += attach(message, fds)
            traces = [None] * len(launches)
            if task.work == "simulate" and message.simulate == SimulateOptions(together=True):
                function, traces = _together(function, folder, task, launches)
        launch, trace = launches.pop(0), traces.pop(0)
        began, timing, called = time.perf_counter(), None, None
        try:
            with _watch(channel, folder, number, task, memory) if trace is None else nullcontext():
                function = function or _loaded(task, folder)
                if task.calls:
                    called = function(launch)
                elif task.work == "simulate":
                    trace = trace or simulate(function, launch, message.simulate)
                elif task.work == "launch":
                    gpu.launch_kernel(function, launch, in_place=True)
                else:
                    timing = gpu.time_kernel(function, launch)
            encoded = None if trace is None else memoryview(trace_codec.encode(trace))
            seconds = time.perf_counter() - began
            report = LaunchReport(number, "passed", seconds=seconds, trace=encoded, timing=timing, called=called)
        except (Exception, SystemExit) as error:
            report = _failure(number, error, folder)
        del launch  # its memory belongs to the other side now
        channel.send(report)
        if report.status != "passed":
            return


def _loaded(task: Task, folder: Path) -> Any:
    return getattr(load_module(task.kernel, folder), ENTRY) if task.calls else load_kernel(task.kernel, folder)


def _together(function: Any, folder: Path, task: Task, launches: list[Launch]) -> tuple[Any, list[Trace | None]]:
    """The kernel, and a trace of each launch without a finding. If the kernel cannot be loaded, its first launch reports it.

    If it takes much too long, the process ends without a word, because that says nothing about any one launch.
    """
    try:
        with Watch(lambda *_: None, folder, 2 * task.seconds):
            function = function or load_kernel(task.kernel, folder)
            return function, simulate_together(function, launches, task.seconds)
    except (Exception, SystemExit):
        return None, [None] * len(launches)


def adopt_compiled(cache: Path) -> None:
    """Make Triton's cache usable after a move from another job's folder: it names files by their full path."""
    for group in cache.glob("*/__grp__*"):
        with contextlib.suppress(OSError, ValueError, KeyError, AttributeError):  # then it is compiled again
            names = json.loads(group.read_text())["child_paths"]
            group.write_text(json.dumps({"child_paths": {name: str(group.parent / name) for name in names}}))


def _watch(channel: Channel, folder: Path, number: int, task: Task, memory: int | None) -> AbstractContextManager[None]:
    if task.work == "time":  # the trusted side's clock is enough
        return nullcontext()

    def stop(excess: Excess, line: int | None) -> None:
        message = _TOO_MUCH_MEMORY if excess == "resource_limit" else ""
        channel.send(LaunchReport(number, excess, message, line=line, seconds=task.seconds))

    return Watch(stop, folder, task.seconds, by_clock=task.gpu, memory=memory)


def _failure(number: int, error: BaseException, folder: Path) -> LaunchReport:
    """An exception as a report. Our own errors carry a message; any other gets its type and the kernel's line."""
    linecache.checkcache()
    detail = "".join(traceback.format_exception(error))[-LONGEST:].replace(str(folder) + os.sep, "")
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(str(folder))]
    line = lines[-1] if lines else getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    status: Any = getattr(error, "status", "")
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        status, message = "resource_limit", _TOO_MUCH_MEMORY
    elif status in ("compile_error", "runtime_error", "timeout", "resource_limit") and hasattr(error, "message"):
        message = str(error.message)
        detail = str(getattr(error, "detail", "") or detail)
        own_line = getattr(error, "line", None)
        line = own_line if isinstance(own_line, int) else line
    elif isinstance(error, SystemExit):
        status, message = "runtime_error", "The kernel ended the process it ran in."
    else:
        status, message = "runtime_error", f"The kernel raised {type(error).__name__}: {error}"
    return LaunchReport(number, status, message[:LONGEST], detail[:LONGEST], line)
