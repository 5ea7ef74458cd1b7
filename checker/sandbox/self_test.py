"""Which layers hold on this machine: each is put on for a trial job, and that job tries what a job must not be able to do."""

from __future__ import annotations

import ctypes
import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from checker.sandbox.isolation import LANDLOCK, NAMESPACES, OTHER_USER, ROOT, SECCOMP
from checker.sandbox.protocol import Broken, Channel, Closed, Message, ProtocolError

_PATIENCE = 20.0
_SECRET = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/dev/mem", "/proc/kcore")
GAPS = {
    "network": "open a connection",
    "write": "write outside its own folder",
    "memory": "read the memory of the checker's processes",
    "signal": "send signals to the checker's processes",
    "solutions": "read the folder of the course",
    "secrets": "read files of the system that only root may read",
}
"""What a job must not be able to do, by the name that a sandbox reports it under."""


class Attempted(Message):
    """A trial job: what it was able to do, by the names in `GAPS`."""

    gaps: tuple[str, ...]


class CudaStarted(Message):
    """A trial job: what the CUDA driver answered, 0 where it started."""

    error: int


Result = TypeVar("Result", Attempted, CudaStarted)
Thing = TypeVar("Thing", int, str)
Layers = frozenset[str]
StartJob = Callable[[Layers, socket.socket, socket.socket, Callable[[Channel], None]], None]
"""Starts a job within these layers, with its sockets for data and for its end, that calls the function."""


@dataclass(frozen=True)
class Strongest:
    """The layers that can be put on, the names in `GAPS` of what a job can do all the same, and why other layers cannot be put on."""

    layers: Layers
    gaps: Layers
    lost: tuple[str, ...]


def strongest_layers(start: StartJob, layers: Layers, trusted: int) -> Strongest:
    """What holds out of `layers`; `trusted` is the process that decides. Raises RuntimeError where no job can be started."""
    outside, lost = (os.getpid(), os.getppid(), trusted), list[str]()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        while True:
            answer = _trial(start, layers, lambda channel: _attempt_all(channel, port, outside), Attempted)
            if isinstance(answer, Attempted):
                return Strongest(layers, frozenset(answer.gaps) & GAPS.keys(), tuple(lost))
            fewer = _without(layers, answer)
            lost += [answer.message or f"{layer} cannot be put on" for layer in layers - fewer]
            layers = fewer


def strongest_gpu_layers(start: StartJob, layers: Layers) -> Layers:
    """The layers under which the CUDA driver starts, out of `layers`. Raises RuntimeError where it never does."""
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
    raise RuntimeError(f"no job can be started on this machine: {answer.message}")


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


def _attempt_all(channel: Channel, port: int, outside: tuple[int, ...]) -> None:
    """Runs in the job; `outside` are processes it must not reach."""
    attempts: dict[str, Callable[[], object]] = {
        "network": lambda: socket.create_connection(("127.0.0.1", port), timeout=1).close(),
        "write": _write_outside,
        "memory": lambda: _any(outside, lambda pid: Path(f"/proc/{pid}/mem").open("rb").close()),
        "signal": lambda: _any(outside, lambda pid: os.kill(pid, 0)),
        "solutions": lambda: next((ROOT / "solutions").glob("*.py")).read_bytes(),
        "secrets": lambda: _any(_SECRET, lambda path: Path(path).open("rb").close()),
    }
    done: list[str] = []
    for name, attempt in attempts.items():
        try:
            attempt()
            done.append(name)
        except (OSError, StopIteration):
            continue
    channel.send(Attempted(tuple(done)))


def _write_outside() -> None:
    place = Path(__file__).with_name(f".probe-{os.getpid()}-{time.time_ns()}")
    place.touch()
    place.unlink()


def _any(things: Sequence[Thing], attempt: Callable[[Thing], object]) -> None:
    """Raises OSError only where `attempt` fails for every thing."""
    refused = 0
    for thing in things:
        try:
            attempt(thing)
        except OSError:
            refused += 1
    if refused == len(things):
        raise PermissionError


def _start_cuda(channel: Channel) -> None:
    driver = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    error = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or (0 if count.value else 100)
    channel.send(CudaStarted(error))
