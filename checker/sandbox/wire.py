"""Frames between the trusted process and a job: a JSON object, raw blobs beside it, never a pickle.

A frame is ``<II`` (bytes of JSON, number of blobs), ``<Q`` per blob (its bytes), the JSON, the blobs. File descriptors travel
beside the first byte and only from the trusted side to a job. Everything that a job sends is checked before it is used.
"""

from __future__ import annotations

import array
import json
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

MAX_JSON = 64 << 20
MAX_BLOBS = 256
MAX_BLOB_BYTES = 1 << 30
_HEAD = struct.Struct("<II")
_SIZE = struct.Struct("<Q")
_MAX_FDS = 4

Blob = bytes | bytearray | memoryview


class ProtocolError(Exception):
    """What came over the socket is not what may come; never the fault of the checker's own side."""


class Closed(Exception):
    """The other side has closed the socket."""


@dataclass(frozen=True)
class Frame:
    """One message: `body` is a JSON object, `blobs` the bytes beside it, `fds` what came along (the receiver owns them)."""

    body: dict[str, Any]
    blobs: tuple[bytes, ...] = ()
    fds: tuple[int, ...] = field(default=())


class Channel:
    """A stream socket that carries frames. `receive` and `send` take a deadline on `time.monotonic`, or None to wait."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def fileno(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        self._sock.close()

    def send(
        self, body: dict[str, Any], blobs: Sequence[Blob] = (), fds: Sequence[int] = (), deadline: float | None = None
    ) -> None:
        """Raises Closed, or TimeoutError where the other side does not read in time."""
        text = json.dumps(body, separators=(",", ":")).encode()
        head = _HEAD.pack(len(text), len(blobs)) + b"".join(_SIZE.pack(len(blob)) for blob in blobs)
        try:
            self._arm(deadline)
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
            sent = self._sock.sendmsg([head], ancillary)
            for part in (memoryview(head)[sent:], text, *blobs):
                self._arm(deadline)
                self._sock.sendall(part)
        except (BrokenPipeError, ConnectionError) as error:
            raise Closed from error

    def receive(self, deadline: float | None = None) -> Frame:
        """Raises Closed, ProtocolError, or TimeoutError."""
        fds: list[int] = []
        head = self._exactly(_HEAD.size, deadline, fds)
        text_size, count = _HEAD.unpack(head)
        if text_size > MAX_JSON or count > MAX_BLOBS:
            raise ProtocolError(f"a frame of {text_size} bytes with {count} blobs is larger than any frame may be")
        sizes = [_SIZE.unpack(self._exactly(_SIZE.size, deadline))[0] for _ in range(count)]
        if sum(sizes) > MAX_BLOB_BYTES:
            raise ProtocolError(f"blobs of {sum(sizes)} bytes are larger than any frame may carry")
        text = self._exactly(text_size, deadline)
        blobs = tuple(bytes(self._exactly(size, deadline)) for size in sizes)
        try:
            body = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ProtocolError(f"a frame is not JSON: {error}") from error
        if not isinstance(body, dict):
            raise ProtocolError(f"a frame is a JSON {type(body).__name__}, not an object")
        return Frame(body, blobs, tuple(fds))

    def _arm(self, deadline: float | None) -> None:
        if deadline is None:
            self._sock.settimeout(None)
            return
        left = deadline - time.monotonic()
        # What already lies in the socket is read even when its reader comes late.
        self._sock.settimeout(max(left, 0.001))

    def _exactly(self, size: int, deadline: float | None, fds: list[int] | None = None) -> bytearray:
        data = bytearray(size)
        view, filled = memoryview(data), 0
        while filled < size:
            self._arm(deadline)
            try:
                wanted = fds if filled == 0 else None
                got = self._sock.recv_into(view[filled:]) if wanted is None else self._first(view, wanted)
            except ConnectionError as error:
                raise Closed from error
            if got == 0:
                raise Closed
            filled += got
        return data

    def _first(self, view: memoryview, fds: list[int]) -> int:
        room = socket.CMSG_SPACE(_MAX_FDS * array.array("i").itemsize)
        data, ancillary, _, _ = self._sock.recvmsg(len(view), room, socket.MSG_CMSG_CLOEXEC)
        for level, kind, payload in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                received = array.array("i")
                received.frombytes(payload[: len(payload) - len(payload) % received.itemsize])
                fds.extend(received)
        view[: len(data)] = data
        return len(data)


def numbered(frame: Frame, number: int, fields: set[str]) -> dict[str, Any]:
    """The body of the result that is due: that number, these fields and no others. Raises ProtocolError."""
    body = frame.body
    if body.get("type") != "result" or body.keys() != {"type", "number"} | fields:
        raise ProtocolError("the frame is not a result")
    if type(body["number"]) is not int or body["number"] != number:
        raise ProtocolError("the result is not the one that is due")
    return body
