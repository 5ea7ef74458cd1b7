"""Which isolation layers hold on this machine: a trial job sets each of them up, and tries what a job must not be able to do."""

from __future__ import annotations

import ctypes
import os
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from checker.sandbox.limits import GAPS, LANDLOCK, NAMESPACES, OTHER_USER, ROOT, SECCOMP
from checker.sandbox.protocol import Broken, Channel, Closed, Message, ProtocolError

_PATIENCE = 20.0
_SECRET = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/dev/mem", "/proc/kcore")


class Attempted(Message):
    """A trial job: what it could do, by the names in `GAPS`."""

    gaps: tuple[str, ...]


class CudaStarted(Message):
    """A trial job: the CUDA driver's error code, 0 if it started."""

    error: int


Result = TypeVar("Result", Attempted, CudaStarted)
Thing = TypeVar("Thing", int, str)
Layers = frozenset[str]
StartJob = Callable[[Layers, socket.socket, socket.socket, Callable[[Channel], None]], None]
"""Starts a job within these layers, with its sockets for data and for its end. The job calls the function."""


@dataclass(frozen=True)
class Strongest:
    """The layers that can be set up, what a job can do in spite of them (names in `GAPS`), and why other layers cannot be set up."""

    layers: Layers
    gaps: Layers
    lost: tuple[str, ...]


def strongest_layers(start: StartJob, layers: Layers, trusted: int) -> Strongest:
    """The strongest subset of `layers`; `trusted` is the process that decides. Raises RuntimeError if no job can start."""
    outside, lost = (os.getpid(), os.getppid(), trusted), list[str]()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        while True:
            answer = _trial(start, layers, lambda channel: _attempt_all(channel, port, outside), Attempted)
            if isinstance(answer, Attempted):
                return Strongest(layers, GAPS.intersection(answer.gaps), tuple(lost))
            fewer = _without(layers, answer)
            lost += [answer.message or f"{layer} cannot be set up" for layer in layers - fewer]
            layers = fewer


def strongest_gpu_layers(start: StartJob, layers: Layers) -> Layers:
    """The strongest subset of `layers` under which the CUDA driver starts. Raises RuntimeError if it never does."""
    answer: CudaStarted | Broken = Broken("")
    for kept in (layers, layers - {LANDLOCK}, layers & {OTHER_USER, SECCOMP}, layers & {SECCOMP}, Layers()):
        answer = _trial(start, kept, _start_cuda, CudaStarted)
        if isinstance(answer, CudaStarted) and answer.error == 0:
            return kept
    why = answer.message if isinstance(answer, Broken) else answer.error
    raise RuntimeError(f"CUDA does not start in the sandbox: {why}")


def _without(layers: Layers, answer: Broken) -> Layers:
    for layer in (answer.layer, LANDLOCK, NAMESPACES, OTHER_USER, SECCOMP):
        if layer in layers:
            return layers - {layer}
    raise RuntimeError(f"no job can start on this machine: {answer.message}")


def _trial(start: StartJob, layers: Layers, run: Callable[[Channel], None], kind: type[Result]) -> Result | Broken:
    data, jobs_data = socket.socketpair()
    report, jobs_report = socket.socketpair()
    with data, report:
        with jobs_data, jobs_report:
            start(layers, jobs_data, jobs_report, run)
        deadline = time.monotonic() + _PATIENCE
        try:
            return Channel(data).receive(kind, deadline)
        except (Closed, TimeoutError, ProtocolError):
            pass
        try:
            return Channel(report).receive(Broken, deadline)
        except (Closed, TimeoutError, ProtocolError):
            return Broken("a trial job ended without an answer")


def _attempt_all(channel: Channel, port: int, outside: Iterable[int]) -> None:
    """Runs in the job; `outside` are processes it must not reach."""
    attempts: dict[str, Callable[[], object]] = {
        "network": lambda: socket.create_connection(("127.0.0.1", port), timeout=1).close(),
        "write": _write_outside,
        "memory": lambda: _any(outside, lambda pid: Path(f"/proc/{pid}/mem").open("rb").close()),
        "signal": lambda: _any(outside, lambda pid: os.kill(pid, 0)),
        "solutions": lambda: next((ROOT / "solutions").glob("*.py")).read_bytes(),
        "secrets": lambda: _any(_SECRET, lambda path: Path(path).open("rb").close()),
    }
    gaps: list[str] = []
    for name, attempt in attempts.items():
        try:
            attempt()
            gaps.append(name)
        except (OSError, StopIteration):
            continue
    channel.send(Attempted(tuple(gaps)))


def _write_outside() -> None:
    place = Path(__file__).with_name(f".probe-{os.getpid()}-{time.time_ns()}")
    place.touch()
    place.unlink()


def _any(things: Iterable[Thing], attempt: Callable[[Thing], object]) -> None:
    """Raises OSError only if `attempt` fails for every thing."""
    for thing in things:
        try:
            attempt(thing)
        except OSError:
            continue
        return
    raise PermissionError


def _start_cuda(channel: Channel) -> None:
    driver = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    error = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or (0 if count.value else 100)
    channel.send(CudaStarted(error))
