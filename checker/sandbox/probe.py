"""Which layers hold on this machine: each is put on for a trial job, and that job tries what a job must not be able to do."""

from __future__ import annotations

import ctypes
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.sandbox import isolation
from checker.sandbox.isolation import LANDLOCK, NAMESPACES, OTHER_USER, SECCOMP
from checker.sandbox.limits import Limits
from checker.sandbox.wire import Channel, Closed, Frame, ProtocolError

if TYPE_CHECKING:
    from checker.sandbox.worker import Worker

_PATIENCE = 20.0
GAPS = {
    "network": "open a connection",
    "write": "write outside its own folder",
    "memory": "read the memory of the checker's processes",
    "signal": "send signals to the checker's processes",
    "solutions": "read the folder of the course",
}
"""What a job must not be able to do, by the name that a sandbox reports it under."""


def strongest(worker: Worker, layers: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The layers that can be put on, out of `layers`, and the names in `GAPS` of what a job can do all the same."""
    outside = (os.getpid(), os.getppid())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        while True:
            answer = _trial(worker, "probe", layers, lambda channel, folder: _violate(channel, port, outside))
            if answer["type"] == "probed":
                return layers, frozenset(name for name in GAPS if answer["done"].get(name))
            layers = _without(layers, answer)


def strongest_with_gpu(worker: Worker, layers: frozenset[str], limits: Limits) -> frozenset[str]:
    """The layers under which the CUDA driver starts, out of `layers`. Raises RuntimeError where it never does."""
    answer: dict[str, Any] = {}
    for kept in (layers, layers - {LANDLOCK}, layers & {OTHER_USER, SECCOMP}, layers & {SECCOMP}, frozenset[str]()):
        answer = _trial(worker, "probe_gpu", kept, lambda channel, folder: _start_cuda(channel))
        if answer["type"] == "probed" and answer["error"] == 0:
            return kept
    raise RuntimeError(f"CUDA does not start in the sandbox: {answer.get('message') or answer.get('error')}")


def _without(layers: frozenset[str], answer: dict[str, Any]) -> frozenset[str]:
    for layer in (answer.get("layer"), LANDLOCK, NAMESPACES, OTHER_USER, SECCOMP):
        if layer in layers:
            return layers - {layer}
    raise RuntimeError(f"no job can be started on this machine: {answer.get('message', answer['type'])}")


def _trial(worker: Worker, kind: str, layers: frozenset[str], body: Callable[[Channel, Path], None]) -> dict[str, Any]:
    data, far_data = socket.socketpair()
    report, far_report = socket.socketpair()
    with data, report:
        with far_data, far_report:
            worker.start({"kind": kind, "cpu_seconds": 30}, Limits(), layers, far_data, far_report, body)
        deadline = time.monotonic() + _PATIENCE
        for channel in (Channel(data), Channel(report)):
            try:
                frame: Frame = channel.receive(deadline)
                return frame.body
            except (Closed, TimeoutError, ProtocolError):
                continue
    return {"type": "ended", "message": "a trial job ended without an answer"}


def _violate(channel: Channel, port: int, outside: tuple[int, ...]) -> None:
    """What was possible, by the names in `GAPS`. Runs in the job; `outside` are processes it must not reach."""
    attempts: dict[str, Callable[[], object]] = {
        "network": lambda: socket.create_connection(("127.0.0.1", port), timeout=1).close(),
        "write": _write_outside,
        "memory": lambda: _any(outside, lambda pid: Path(f"/proc/{pid}/mem").open("rb").close()),
        "signal": lambda: _any(outside, lambda pid: os.kill(pid, 0)),
        "solutions": lambda: next((isolation.ROOT / "solutions").glob("*.py")).read_bytes(),
    }
    done: dict[str, bool] = {}
    for name, attempt in attempts.items():
        try:
            attempt()
            done[name] = True
        except (OSError, StopIteration):
            done[name] = False
    channel.send({"type": "probed", "done": done})


def _write_outside() -> None:
    place = Path(__file__).with_name(f".probe-{os.getpid()}-{time.time_ns()}")
    place.touch()
    place.unlink()


def _any(processes: tuple[int, ...], attempt: Callable[[int], object]) -> None:
    """Raises OSError only where `attempt` fails for every process."""
    refused = 0
    for pid in processes:
        try:
            attempt(pid)
        except OSError:
            refused += 1
    if refused == len(processes):
        raise PermissionError


def _start_cuda(channel: Channel) -> None:
    driver = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    error = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or (0 if count.value else 100)
    channel.send({"type": "probed", "error": error})
