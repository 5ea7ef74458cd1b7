"""A process that does one job after another, where jobs cannot be forked and isolated. It runs the user's own kernels.

`plain` starts it as ``python -m checker.sandbox.plain_worker PORT FOLDER``, with a secret on standard input that it repeats to whoever
listens on the port. A `Stop` ends a job, and the process goes on; it ends when the connection closes.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import select
import shutil
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from checker.sandbox import job_object
from checker.sandbox.late_import import import_torch_sooner
from checker.sandbox.limits import GAPS, GiB
from checker.sandbox.protocol import (
    AnyMessage,
    Broken,
    Channel,
    Closed,
    JobEnd,
    JobSpec,
    Message,
    Stop,
    WorkerReady,
    decode,
    encode,
)

_STOP = encode(Stop())
_ALREADY_HELD = 2 * GiB  # what Python, torch and the simulator ask Windows for, generously


class Stopped(Closed):
    """The trusted side has ended the job."""


class Conversation(Channel):
    """A job's end of the connection: the other side's `Stop` ends the job at its next message."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        self._ahead: collections.deque[bytearray] = collections.deque()

    def send(self, message: Message, fds: Sequence[int] = (), deadline: float | None = None) -> None:
        while select.select([self], [], [], 0)[0]:
            self._ahead.append(self.frame())
        if _STOP in self._ahead:
            self._ahead.clear()
            raise Stopped
        super().send(message, fds, deadline)

    def receive_with_fds(self, kind: type[AnyMessage]) -> tuple[AnyMessage, list[int]]:
        frame = self._ahead.popleft() if self._ahead else self.frame()
        if frame == _STOP:
            raise Stopped
        return decode(kind, frame), []

    def await_stop(self) -> None:
        while (self._ahead.popleft() if self._ahead else self.frame()) != _STOP:
            pass


def main(arguments: list[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    sock = socket.create_connection(("127.0.0.1", int(arguments[0])))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.sendall(sys.stdin.buffer.read())
    channel, folder = Conversation(sock), Path(arguments[1])
    import_torch_sooner()
    try:
        from checker.sandbox import job

        job.warm_up(folder)
    except Exception as error:
        channel.send(Broken(f"{type(error).__name__}: {error}"[:2000]))
        raise
    channel.send(WorkerReady((), tuple(sorted(GAPS)), ()))
    for number in itertools.count():
        spec = channel.receive_with_fds(JobSpec)[0]
        own = folder / f"job-{number}"
        own.mkdir()
        memory = spec.limits.memory + spec.memory
        job_object.limit_memory(memory + _ALREADY_HELD)
        with contextlib.suppress(Stopped):
            job.run(channel, own, spec.task, memory)
            channel.await_stop()
        shutil.rmtree(own, ignore_errors=True)
        channel.send(JobEnd(0, None, "", b""))


if __name__ == "__main__":
    with contextlib.suppress(Closed):
        main(sys.argv[1:])
