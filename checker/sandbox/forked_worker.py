"""A worker from the host's fork server, where there is one: `VARIABLE` names its socket.

Where none answers, or one with other code, a notebook starts a worker of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path

from checker.sandbox.protocol import Channel, Closed, Forked, ForkRequest, ProtocolError

VARIABLE = "TILE_BY_TILE_FORK_SERVER"
"""Names the socket, in the environment of a notebook."""
_CHECKER = Path(__file__).resolve().parent.parent
_ROOMS = ("sandbox", "simulator", "compiler", "submission", "puzzle.py")
_PATIENCE = 2.0


def stamp() -> str:
    """What makes two copies of the checker the same worker."""
    digest = hashlib.sha256(sys.version.encode())
    for room in _ROOMS:
        path = _CHECKER / room
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()


class ForkedWorker:
    """A worker that the fork server forked, as far as `subprocess.Popen` would tell of it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._handle = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """0 once it has ended."""
        return 0 if select.select([self._handle], [], [], 0)[0] else None

    def wait(self, timeout: float | None = None) -> int:
        """Raises TimeoutError."""
        if not select.select([self._handle], [], [], timeout)[0]:
            raise TimeoutError
        return 0

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            os.close(self._handle)


def fork(
    control: socket.socket, log: int, folder: Path, layers: str, environment: dict[str, str]
) -> ForkedWorker | None:
    """A worker from the fork server, or None where there is none that would do."""
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    request = ForkRequest(stamp(), str(folder), layers, environment)
    deadline = time.monotonic() + _PATIENCE
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_PATIENCE)
            connection.connect(path)
            channel = Channel(connection)
            channel.send(request, fds=(control.fileno(), log), deadline=deadline)
            return ForkedWorker(channel.receive(Forked, deadline).pid)
    except (OSError, Closed, ProtocolError):
        return None
