"""Frames and messages between the trusted process, its worker and the jobs: MessagePack decoded to declared types, never a pickle.

A frame is its length in bytes (``<Q``) followed by one message. Decoding validates: any bytes give either a message of an
expected type or `ProtocolError`, and no message takes more memory than its reader allows. File descriptors travel with the
first byte, and only towards a job.
"""

from __future__ import annotations

import array
import contextlib
import functools
import socket
import struct
import threading
import time
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from checker.sandbox.limits import Limits
from checker.submission.kernel import KernelSource

SMALL = 4 << 20
"""The most bytes in a frame, except for a launch's report, which carries a trace."""
_LENGTH = struct.Struct("<Q")
_MAX_FDS = 4


class ProtocolError(Exception):
    """The other side sent bytes that are not an expected message."""


class Closed(Exception):
    """The other side has closed the socket."""


class Message(msgspec.Struct, forbid_unknown_fields=True, tag=True):
    """Base class of everything that fits in a frame."""


AnyMessage = TypeVar("AnyMessage", bound=Message)
Words = Annotated[str, msgspec.Meta(max_length=1 << 16)]


class Exposed(Message):
    """Worker: my jobs can read the memory of the process that started me."""


class Hidden(Message):
    """The answer to `Exposed`: now they cannot."""


class WorkerReady(Message):
    """Worker: the isolation layers in force, what a job can do in spite of them (`limits.GAPS`), and why other layers are missing."""

    layers: tuple[str, ...]
    gaps: tuple[str, ...]
    lost: tuple[str, ...]


class Task(Message):
    """What a job does with one kernel: compile it, simulate launches, run them on the GPU, or time them there; or call a function.

    `seconds` limits each compilation and simulation in processor time, and each launch on the GPU on the clock.
    """

    work: Literal["compile", "simulate", "launch", "time", "call", "call_on_gpu"]
    kernel: KernelSource
    seconds: float = 0.0

    @property
    def gpu(self) -> bool:
        return self.work in ("launch", "time", "call_on_gpu")

    @property
    def calls(self) -> bool:
        return self.work in ("call", "call_on_gpu")

    @property
    def programs(self) -> bool:
        """Whether it may start programs, such as the assembler."""
        return self.work not in ("simulate", "call")


class JobSpec(Message):
    """To the worker, with the job's two sockets. `memory` (bytes) comes on top of `Limits.memory`.

    A job on the GPU takes over what earlier jobs compiled under the same `cache` name.
    """

    task: Task
    limits: Limits
    memory: int = 0
    cache: str = ""


class Stop(Message):
    """To a job without a process of its own: end now, and answer `JobEnd`."""


class JobStarted(Message):
    """Job: I am isolated, and untrusted code may run."""


class Broken(Message):
    """Worker or supervisor: this does not work on this machine; `layer` names the isolation layer at fault, if one is."""

    message: Words
    layer: str = ""


class JobEnd(Message):
    """Supervisor: how the job's process ended, why it was killed (if it was), and what it printed."""

    code: int | None
    signal: int | None
    reason: str
    printed: bytes


def encode(message: Any) -> bytes:
    """Raises TypeError for values that MessagePack cannot hold."""
    return msgspec.msgpack.encode(message)


def decode(kind: type[AnyMessage], data: bytes | bytearray | memoryview) -> AnyMessage:
    """A message of type `kind` (or of one type in a union). Raises ProtocolError for anything else."""
    try:
        message: AnyMessage = decoder(kind).decode(data)
    except (ValueError, RecursionError, MemoryError) as error:  # msgspec's own errors are ValueErrors
        raise ProtocolError(str(error)[:500] or type(error).__name__) from error
    return message


def decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    with _PREPARING:
        return _prepared(kind)


_PREPARING = threading.Lock()  # msgspec crashes where two threads prepare one type at once


@functools.cache
def _prepared(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(kind)


class Channel:
    """A stream socket that carries frames. Deadlines are times on `time.monotonic`; None waits forever."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def fileno(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        self._sock.close()

    def end(self) -> None:
        """End the connection for both sides, also under a thread that waits for a message: it gets Closed."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self.close()

    def send(self, message: Message, fds: Sequence[int] = (), deadline: float | None = None) -> None:
        """Raises Closed, or TimeoutError if the other side does not read in time."""
        text = encode(message)
        head = _LENGTH.pack(len(text))
        try:
            self._arm(deadline)
            sent = socket.send_fds(self._sock, [head], fds) if fds else 0
            for part in (head[sent:], text):
                self._arm(deadline)
                self._sock.sendall(part)
        except (BrokenPipeError, ConnectionError) as error:
            raise Closed from error

    def receive(self, kind: type[AnyMessage], deadline: float | None = None, most: int = SMALL) -> AnyMessage:
        """A message of type `kind`, of at most `most` bytes. Raises Closed, ProtocolError or TimeoutError."""
        return decode(kind, self._frame(deadline, most, None))

    def frame(self, deadline: float | None = None) -> bytearray:
        """A message of any type and size, not yet decoded. Raises Closed or TimeoutError."""
        return self._frame(deadline, 1 << 40, None)

    def exactly(self, size: int, deadline: float) -> bytearray:
        """Bytes outside any frame. Raises Closed or TimeoutError."""
        return self._exactly(size, deadline, None)

    def receive_with_fds(self, kind: type[AnyMessage]) -> tuple[AnyMessage, list[int]]:
        """A message from the trusted side and its descriptors, which the caller owns. Waits forever and trusts the length."""
        fds: list[int] = []
        return decode(kind, self._frame(None, 1 << 40, fds)), fds

    def _frame(self, deadline: float | None, most: int, fds: list[int] | None) -> bytearray:
        (size,) = _LENGTH.unpack(self._exactly(_LENGTH.size, deadline, fds))
        if size > most:
            raise ProtocolError(f"a frame of {size} bytes is larger than allowed")
        return self._exactly(size, deadline, None)

    def _arm(self, deadline: float | None) -> None:
        # never 0: a late reader still gets what has already arrived
        self._sock.settimeout(None if deadline is None else max(deadline - time.monotonic(), 0.001))

    def _exactly(self, size: int, deadline: float | None, fds: list[int] | None) -> bytearray:
        """`size` bytes. Without `fds`, the kernel drops descriptors that come along."""
        data = bytearray(size)
        view, filled = memoryview(data), 0
        while filled < size:
            self._arm(deadline)
            try:
                got = self._sock.recv_into(view[filled:]) if fds is None else self._with_fds(view[filled:], fds)
            except ConnectionError as error:
                raise Closed from error
            if got == 0:
                raise Closed
            filled += got
        return data

    def _with_fds(self, view: memoryview, fds: list[int]) -> int:
        room = socket.CMSG_SPACE(_MAX_FDS * array.array("i").itemsize)
        data, ancillary, _, _ = self._sock.recvmsg(len(view), room, socket.MSG_CMSG_CLOEXEC)
        for level, kind, payload in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                received = array.array("i")
                received.frombytes(payload[: len(payload) - len(payload) % received.itemsize])
                fds.extend(received)
        view[: len(data)] = data
        return len(data)
