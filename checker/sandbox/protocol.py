"""What passes between the trusted process, its worker and the jobs: MessagePack, read by declared types, never a pickle.

A frame is its length in bytes (``<Q``) and one message. Reading is checking: any bytes give a message of a type that is due, or
`ProtocolError`, and no message takes more memory than its reader allows. File descriptors travel beside the first byte, towards
a job only. What is asked of a job and what it answers is in `tasks.py`.
"""

from __future__ import annotations

import array
import functools
import socket
import struct
import time
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import msgspec

from checker.sandbox.isolation import Limits

SMALL = 4 << 20
"""Bytes of any frame but a launch's report, which carries a trace."""
_LENGTH = struct.Struct("<Q")
_MAX_FDS = 4


class ProtocolError(Exception):
    """What came over the socket is not what may come; never the fault of the checker's own side."""


class Closed(Exception):
    """The other side has closed the socket."""


class Message(msgspec.Struct, forbid_unknown_fields=True, tag=True):
    """What a frame may hold is a subclass of this."""


AnyMessage = TypeVar("AnyMessage", bound=Message)
Words = Annotated[str, msgspec.Meta(max_length=1 << 16)]


class Exposed(Message):
    """Worker: my jobs can read the memory of the process that started me."""


class Hidden(Message):
    """The answer: now they cannot."""


class WorkerReady(Message):
    """Worker: the layers of isolation in force, what a job can do in spite of them (names of `self_test.GAPS`), and why others are not."""

    layers: tuple[str, ...]
    gaps: tuple[str, ...]
    lost: tuple[str, ...]
    threads: int
    seconds: float


class ForkRequest(Message):
    """To the fork server, with the worker's control socket and its log: the code it has to have, its folder, layers and environment."""

    stamp: str
    folder: str
    layers: str
    environment: dict[str, str]


class Forked(Message):
    """Fork server: the worker that was forked."""

    pid: int


class JobSpec(Message):
    """To the worker, with the job's two sockets. `memory` is in bytes, on top of `Limits.memory`; `task` is for the job to read.

    What is compiled under one name of a `cache` is taken over by the next job on the GPU with that name.
    """

    task: msgspec.Raw
    limits: Limits
    cpu_seconds: float
    memory: int = 0
    gpu: bool = False
    may_start_programs: bool = False
    cache: str = ""


class JobStarted(Message):
    """Job: my isolation stands, foreign code may come."""


class Broken(Message):
    """Worker or supervisor: this cannot be done here; `layer` of isolation is the reason, where it is one."""

    message: Words
    layer: str = ""


class JobEnd(Message):
    """Supervisor: how the job's process ended, why it was ended (if it was), and what it had printed."""

    code: int | None
    signal: int | None
    reason: str
    printed: bytes


def encode(message: Any) -> bytes:
    """Raises TypeError for what has no place in a message."""
    return msgspec.msgpack.encode(message)


def decode(kind: type[AnyMessage], data: bytes | bytearray | memoryview) -> AnyMessage:
    """A message of type `kind` (or one of a union of them). Raises ProtocolError where `data` is anything else."""
    try:
        message: AnyMessage = decoder(kind).decode(data)
    except (ValueError, RecursionError, MemoryError) as error:  # msgspec's own errors are ValueErrors
        raise ProtocolError(str(error)[:500] or type(error).__name__) from error
    return message


@functools.cache
def decoder(kind: Any) -> msgspec.msgpack.Decoder:
    return msgspec.msgpack.Decoder(kind)


class Channel:
    """A stream socket that carries frames. `receive` and `send` take a deadline on `time.monotonic`, or None to wait."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def fileno(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        self._sock.close()

    def send(self, message: Message, fds: Sequence[int] = (), deadline: float | None = None) -> None:
        """Raises Closed, or TimeoutError where the other side does not read in time."""
        text = encode(message)
        head = _LENGTH.pack(len(text))
        try:
            self._arm(deadline)
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
            sent = self._sock.sendmsg([head], ancillary)
            for part in (head[sent:], text):
                self._arm(deadline)
                self._sock.sendall(part)
        except (BrokenPipeError, ConnectionError) as error:
            raise Closed from error

    def receive(self, kind: type[AnyMessage], deadline: float | None = None, most: int = SMALL) -> AnyMessage:
        """A message of type `kind`, of at most `most` bytes. Raises Closed, ProtocolError or TimeoutError."""
        return decode(kind, self._frame(deadline, most, None))

    def receive_with_fds(self, kind: type[AnyMessage]) -> tuple[AnyMessage, list[int]]:
        """From the trusted side: waits, trusts the length, and hands over what came along. The receiver owns the descriptors."""
        fds: list[int] = []
        return decode(kind, self._frame(None, 1 << 40, fds)), fds

    def _frame(self, deadline: float | None, most: int, fds: list[int] | None) -> bytearray:
        (size,) = _LENGTH.unpack(self._exactly(_LENGTH.size, deadline, fds))
        if size > most:
            raise ProtocolError(f"a frame of {size} bytes is larger than it may be")
        return self._exactly(size, deadline, None)

    def _arm(self, deadline: float | None) -> None:
        # What already lies in the socket is read even when its reader comes late.
        self._sock.settimeout(None if deadline is None else max(deadline - time.monotonic(), 0.001))

    def _exactly(self, size: int, deadline: float | None, fds: list[int] | None) -> bytearray:
        """`size` bytes. Descriptors that nobody asked for (`fds` is None) are dropped by the kernel."""
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
