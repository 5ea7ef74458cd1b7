"""Reads what learners handed in, in a separate process. If it dies, hangs or grows, only the file that it was reading is lost.

The process parses (JSON, zip, Python's syntax) and runs nothing; it needs neither torch nor triton.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import msgspec

from checker.submission.files import MAX_FILE, Entry, printable, skipped, unzipped
from checker.submission.from_path import KINDS, SubmittedKernel, read_entry

CPU_SECONDS = 10.0
WALL_SECONDS = 60.0
MEMORY = 2 << 30
MAX_ANSWER = 64 << 20
_LENGTH = 8


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
    """This process's environment for another Python, which finds the course too."""
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}


@dataclass
class Reader:
    """Reads files one after another. A new process is started where the last one ended."""

    cpu_seconds: float = CPU_SECONDS
    wall_seconds: float = WALL_SECONDS
    memory: int = MEMORY

    def __post_init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

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
        except (OSError, EOFError, ValueError) as error:
            ended = self._process.poll() if self._process is not None else None
            slow = ended == -signal.SIGPROF or isinstance(error, TimeoutError)
            self.close()
            why = f"took more than {self.cpu_seconds:g} s" if slow else "ended the process that read it"
            found = SubmittedKernel(name, error=f"this file cannot be read: reading it {why}", reason="unreadable")
            return (Inner(name, "", len(data), modified, (found,)),)

    def _ask(self, request: Request) -> tuple[Inner, ...]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = self._started()
        process, deadline = self._process, time.monotonic() + self.wall_seconds
        assert process.stdin is not None
        assert process.stdout is not None
        body = msgspec.msgpack.encode(request)
        process.stdin.write(len(body).to_bytes(_LENGTH, "big") + body)  # it reads all of it before it does anything
        process.stdin.flush()
        try:
            size = int.from_bytes(_exactly(process.stdout, _LENGTH, deadline), "big")
            if size > MAX_ANSWER:
                raise ValueError("the answer is too long")
            return msgspec.msgpack.decode(_exactly(process.stdout, size, deadline), type=tuple[Inner, ...])
        except EOFError:
            process.wait(timeout=5)
            raise

    def _started(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "checker.submission.reader", str(self.cpu_seconds), str(self.memory)]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, env=course_on_path())


def _exactly(pipe: IO[bytes], count: int, deadline: float) -> bytes:
    """Raises EOFError, and TimeoutError at the deadline."""
    parts, handle = [], pipe.fileno()
    with selectors.DefaultSelector() as selector:
        selector.register(handle, selectors.EVENT_READ)
        while count:
            left = deadline - time.monotonic()
            if left <= 0 or not selector.select(left):
                raise TimeoutError
            part = os.read(handle, min(count, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
    return b"".join(parts)


# ------------------------------------------------------------------------------------------------------ in the process


def _main(cpu_seconds: float, memory: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    while header := source.read(_LENGTH):
        request = msgspec.msgpack.decode(source.read(int.from_bytes(header, "big")), type=Request)
        signal.setitimer(signal.ITIMER_PROF, cpu_seconds)  # ends the process, whatever it is in the middle of
        answer = msgspec.msgpack.encode(_answer(request))
        signal.setitimer(signal.ITIMER_PROF, 0)
        target.write(len(answer).to_bytes(_LENGTH, "big") + answer)
        target.flush()


def _answer(request: Request) -> tuple[Inner, ...]:
    name, data = request.name, request.data
    if not name.lower().endswith(".zip"):
        return (_inner(Entry(name, lambda most: data[:most], modified=request.modified), request),)
    return tuple(_inner(entry, request) for entry in unzipped(data, name))


def _inner(entry: Entry, request: Request) -> Inner:
    import hashlib

    def unread(message: str, reason: str = "unreadable") -> list[SubmittedKernel]:
        return [SubmittedKernel(entry.name, error=message, reason=reason)]

    data = b""
    try:
        if any(skipped(part) for part in entry.name.split("/") if part not in (".", "..")):
            found = unread("a hidden or temporary file was left out", "left_out")
        elif not entry.problem and entry.suffix not in KINDS:
            kind = entry.suffix or "file without a suffix"
            found = unread(f"a {kind} is not read: hand in a .py, an .ipynb or a .zip of them", "other_kind")
        else:
            data = b"" if entry.problem else entry.read(MAX_FILE + 1)
            found = read_entry(replace(entry, read=lambda most: data[:most]), request.kernels)
            msgspec.msgpack.encode(tuple(found))  # fails here, for this file alone, where a text in it is no text
    except MemoryError:
        found = unread("this file cannot be read: it needs too much memory")
    except Exception as error:  # one member must not take the others of its zip with it
        found = unread(f"this file cannot be read: {printable(str(error))[:100]}")
    return Inner(entry.name, hashlib.sha256(data).hexdigest() if data else "", len(data), entry.modified, tuple(found))


if __name__ == "__main__":
    _main(float(sys.argv[1]), int(sys.argv[2]))
