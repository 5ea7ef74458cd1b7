"""Reads what learners handed in, in a separate process. If it dies, hangs or grows, only the file that it was reading is lost.

The process parses (JSON, zip, Python's syntax) and runs nothing; it needs neither torch nor triton.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from checker.submission.files import Entry, printable
from checker.submission.from_path import SubmittedKernel, members, read_entry

CPU_SECONDS = 10.0
WALL_SECONDS = 60.0
MEMORY = 2 << 30
MAX_ANSWER = 64 << 20
_OUT_OF_TIME = -getattr(signal, "SIGPROF", 0) or None


class Request(msgspec.Struct, frozen=True):
    """One file: its name, its bytes, and the kernels to look for, each with its puzzle's name."""

    name: str
    data: bytes
    kernels: dict[str, str]
    modified: float | None = None


class Inner(msgspec.Struct, frozen=True):
    """One file that was found: itself, or a member of a zip. `found` is empty where nothing in it is a kernel's business."""

    name: str
    sha256: str
    bytes: int
    modified: float | None
    found: tuple[SubmittedKernel, ...]


def course_on_path() -> dict[str, str]:
    """This process's environment for another Python, which finds the course too, and with -P nothing in the working directory."""
    root = Path(__file__).resolve().parents[2]
    folders = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *folders])}


@dataclass
class Reader:
    """Reads files one after another. A new process is started where the last one ended."""

    cpu_seconds: float = CPU_SECONDS
    wall_seconds: float = WALL_SECONDS
    memory: int = MEMORY

    def __post_init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    def read(
        self, name: str, data: bytes, kernels: Mapping[str, str], modified: float | None = None
    ) -> tuple[Inner, ...]:
        """What is in a file. One that cannot be read is an Inner with a SubmittedKernel that says why."""
        try:
            return self._ask(Request(name, data, dict(kernels), modified))
        except (OSError, ValueError):
            slow = self._killed or (self._process is not None and self._process.poll() == _OUT_OF_TIME)
            self.close()
            why = f"took more than {self.cpu_seconds:g} s" if slow else "ended the process that read it"
            found = SubmittedKernel(name, error=f"this file cannot be read: reading it {why}", reason="unreadable")
            return (Inner(name, "", len(data), modified, (found,)),)

    def _ask(self, request: Request) -> tuple[Inner, ...]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = self._started()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        self._killed = False
        clock = threading.Timer(self.wall_seconds, self._kill, [process])
        clock.start()
        try:
            process.stdin.write(msgspec.json.encode(request) + b"\n")  # it reads all of it before it does anything
            process.stdin.flush()
            answer = process.stdout.readline(MAX_ANSWER)
        finally:
            clock.cancel()
        if not answer:
            process.wait(timeout=5)
        return msgspec.json.decode(answer, type=tuple[Inner, ...])

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        self._killed = True
        process.kill()

    def _started(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "checker.submission.reader", str(self.cpu_seconds), str(self.memory)]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, env=course_on_path())


# ------------------------------------------------------------------------------------------------------ in the process


def _main(cpu_seconds: float, memory: int) -> None:
    with contextlib.suppress(ImportError):  # Windows has no such limits
        _limit_memory(memory)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    for line in source:
        request = msgspec.json.decode(line, type=Request)
        _end_after(cpu_seconds)
        answer = msgspec.json.encode(_answer(request))
        _end_after(0)
        target.write(answer + b"\n")
        target.flush()


def _limit_memory(memory: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(*(() if sys.platform == "linux" else (ValueError, OSError))):  # macOS may refuse
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _end_after(cpu_seconds: float) -> None:
    """The process, whatever it is in the middle of; 0 for never. Windows cannot do it: there the wall clock is the limit."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, cpu_seconds)


def _answer(request: Request) -> tuple[Inner, ...]:
    file = Entry(request.name, lambda most: request.data[:most], modified=request.modified)
    return tuple(_inner(entry, request.kernels) for entry in members(file))


def _inner(entry: Entry, kernels: Mapping[str, str]) -> Inner:
    data = b""

    def read(most: int) -> bytes:
        nonlocal data
        data = entry.read(most)
        return data

    found = tuple(read_entry(replace(entry, read=read), kernels))
    try:
        msgspec.json.encode(found)  # fails here, for this file alone, where a text in it is no text
    except ValueError as error:
        message = f"this file cannot be read: {printable(str(error))[:100]}"
        found = (SubmittedKernel(entry.name, error=message, reason="unreadable"),)
    return Inner(entry.name, hashlib.sha256(data).hexdigest() if data else "", len(data), entry.modified, found)


if __name__ == "__main__":
    _main(float(sys.argv[1]), int(sys.argv[2]))
