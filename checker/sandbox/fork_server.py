"""The fork server of a host: it imports torch and Triton once, and forks a worker for every notebook that asks, as the user who asks.

Without it each notebook starts a worker of its own, whose memory nobody shares. ``python -m checker.sandbox.fork_server SOCKET`` is started
once: by root on a server for many, where each worker runs as the user at the other end of its socket (the kernel's word, not the asker's), or
by one user for their own notebooks. It reads nothing of what a user sends: the forked child does, when it has become that user. Workers
share pages, and nothing that is written; a job is confined within its worker as ever.

`forked_worker.py` is the notebook's side.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import socket
import struct
import sys
import tempfile
import time
from pathlib import Path

from checker.sandbox import linux
from checker.sandbox.forked_worker import stamp
from checker.sandbox.protocol import Channel, Forked, ForkRequest

_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid


def serve(path: Path) -> None:
    """Fork a worker for each connection, until interrupted. Raises OSError where the socket cannot be made."""
    import checker.sandbox.worker  # noqa: F401  imported before any fork
    from checker.sandbox.warm_up import warm_up

    own = stamp()
    with tempfile.TemporaryDirectory(prefix="tile-by-tile-") as folder:
        warm_up(Path(folder))
    linux.prctl(linux.PR_SET_DUMPABLE, 0)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o666)  # who connects gets a worker of their own rights, and no more
        listener.listen(64)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a worker
        print(f"forks workers at {path}", flush=True)
        while True:
            connection, _ = listener.accept()
            with connection:
                try:
                    child = os.fork()
                except OSError as error:  # no memory or processes left: this notebook starts its own, the others go on
                    print(f"could not fork: {error}", file=sys.stderr, flush=True)
                    continue
                if child == 0:
                    listener.close()
                    _become_worker(connection, own)


def _become_worker(connection: socket.socket, own: str) -> None:
    """In the child. Never returns."""
    code = 1
    try:
        asker, uid, gid = _CREDENTIALS.unpack(
            connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        )
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _become(uid, gid)
        signal.alarm(10)  # who connects and says nothing
        channel = Channel(connection)
        request, fds = channel.receive_with_fds(ForkRequest)
        signal.alarm(0)
        if request.stamp == own and len(fds) == 2:
            control, log = fds
            channel.send(Forked(os.getpid()))
            connection.close()
            _work(socket.socket(fileno=control), log, request, asker)
            code = 0
    finally:
        os._exit(code)


def _become(uid: int, gid: int) -> None:
    """Give up root for good. Another user than root can only serve themselves: raises PermissionError for anybody else."""
    if os.geteuid() == 0 and uid != 0:
        try:
            os.initgroups(pwd.getpwuid(uid).pw_name, gid)
        except KeyError:
            os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    elif uid != os.geteuid():
        raise PermissionError("this fork server serves one user")


def _work(control: socket.socket, log: int, request: ForkRequest, asker: int) -> None:
    from checker.sandbox import worker

    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(log)
    os.environ.clear()
    os.environ.update(request.environment)
    os.environ["TRITON_CACHE_DIR"] = f"{request.folder}/warm"
    os.chdir(request.folder)
    worker.work(Channel(control), Path(request.folder), request.layers, asker, time.perf_counter())


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
