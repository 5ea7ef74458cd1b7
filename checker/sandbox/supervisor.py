"""The processes of one job: worker → supervisor → job → whatever the job starts. The supervisor outlives them all.

In a process namespace the supervisor is the first process, so the kernel ends every descendant with it; elsewhere it adopts
orphans and ends them itself. It holds the `report` socket: when the trusted side closes that, the job is over.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from checker.sandbox import isolation, linux
from checker.sandbox.isolation import Confinement, LayerFailed
from checker.sandbox.limits import CACHE, NAMESPACES
from checker.sandbox.protocol import Broken, Channel, Closed, JobEnd, Message

_TICK = 0.1
_CHUNK = 1 << 16


def start(confinement: Confinement, data: socket.socket, report: socket.socket, run: Callable[[Channel], None]) -> int:
    """Fork the processes of one job, which calls `run`. Returns the process that the worker has to reap."""
    first = os.fork()
    if first:
        return first
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        linux.prctl(linux.PR_SET_DUMPABLE, 0)
        _supervise(confinement, data, report, run)
        code = 0
    except BaseException as error:
        _send(report, Broken(str(error)[:2000], getattr(error, "layer", "")))
    finally:
        os._exit(code)


def _send(report: socket.socket, message: Message) -> None:
    with contextlib.suppress(Closed, OSError):
        Channel(report).send(message, deadline=time.monotonic() + 5)


def _supervise(
    confinement: Confinement, data: socket.socket, report: socket.socket, run: Callable[[Channel], None]
) -> None:
    isolation.enter_namespaces(confinement)
    if NAMESPACES in confinement.layers and os.fork():
        return  # the namespace's first process takes over
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    isolation.hide_processes(confinement)
    reader, writer = os.pipe()
    confinement.folder.mkdir(mode=0o700)
    take_compiled(confinement)
    reason = "not started"
    try:
        job = os.fork()
        if job == 0:
            os.close(reader)
            report_fd = report.detach()
            os.set_inheritable(report_fd, False)
            _job(confinement, data, report_fd, writer, run)
        os.close(writer)
        data.close()
        ended, reason, printed = _watch(confinement, job, reader, report)
    finally:
        _end_descendants(NAMESPACES in confinement.layers)
        if not reason:
            keep_compiled(confinement)
        shutil.rmtree(confinement.folder, ignore_errors=True)
    code = os.WEXITSTATUS(ended) if os.WIFEXITED(ended) else None
    signal_number = os.WTERMSIG(ended) if os.WIFSIGNALED(ended) else None
    _send(report, JobEnd(code, signal_number, reason, printed))


def take_compiled(confinement: Confinement) -> None:
    """Give a job on the GPU what earlier jobs compiled of the same kernel."""
    if confinement.cache is not None and confinement.gpu and confinement.cache.exists():
        confinement.cache.rename(confinement.folder / CACHE)


def keep_compiled(confinement: Confinement) -> None:
    """Put what a job compiled where the next one finds it. Files move unread, because untrusted code may have made them."""
    own = confinement.folder / CACHE
    if confinement.cache is None or confinement.gpu or own.is_symlink() or not own.is_dir():
        return
    confinement.cache.mkdir(mode=0o700, exist_ok=True)
    for entry in own.iterdir():
        with contextlib.suppress(OSError):  # another job has compiled the same
            entry.rename(confinement.cache / entry.name)


def _job(
    confinement: Confinement, data: socket.socket, report: int, writer: int, run: Callable[[Channel], None]
) -> None:
    """Never returns. Errors before `run` go to the report socket, which untrusted code never sees."""
    code = 1
    try:
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for target, source in ((0, null), (1, writer), (2, writer)):
            os.dup2(source, target)
        os.close(writer)
        os.close(null)
        _set_folders(confinement.folder)
        try:
            isolation.confine(confinement)
        except LayerFailed as error:
            _send(socket.socket(fileno=report), Broken(str(error)[:2000], error.layer))
            os._exit(1)
        os.close(report)
        run(Channel(data))
        code = 0
    except Closed:
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _set_folders(folder: Path) -> None:
    for name, place in (("HOME", ""), ("TMPDIR", "tmp"), ("TRITON_HOME", ""), ("TRITON_CACHE_DIR", CACHE)):
        os.environ[name] = str(folder / place)
    (folder / "tmp").mkdir()
    with contextlib.suppress(OSError):
        if os.geteuid() == 0:
            os.chown(folder / "tmp", isolation.NOBODY, isolation.NOBODY)
    tempfile.tempdir = None


def _watch(confinement: Confinement, job: int, reader: int, report: socket.socket) -> tuple[int, str, bytes]:
    """Wait until the job ends, is called off, or takes too much: its wait status, why it was killed, and what it printed last."""
    most, printed = confinement.limits.output, b""
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    poll.register(report, select.POLLIN | select.POLLHUP)
    with contextlib.suppress(OSError, AttributeError):
        poll.register(os.pidfd_open(job), select.POLLIN)
    baseline, reason, pid = _held(job), "", 0
    while not pid:
        for fd, _ in poll.poll(_TICK * 1000):
            if fd == reader:
                data = os.read(reader, _CHUNK)
                printed = (printed + data)[-most:]
                if not data:
                    poll.unregister(reader)
            elif fd == report.fileno() and not reason:
                reason = "called off"
                os.kill(job, signal.SIGKILL)
                poll.unregister(report)
        if not reason and (reason := _excess(confinement, job, baseline)):
            os.kill(job, signal.SIGKILL)
        pid, ended = os.waitpid(job, os.WNOHANG)
    os.set_blocking(reader, False)
    with contextlib.suppress(BlockingIOError):
        for _ in range(64):
            data = os.read(reader, _CHUNK)
            printed = (printed + data)[-most:]
            if not data:
                break
    return ended, reason, printed


def _excess(confinement: Confinement, job: int, baseline: int) -> str:
    if _held(job) - baseline > confinement.memory:
        return "memory"
    return "processes" if len(_descendants(confinement.limits.processes)) > confinement.limits.processes else ""


def _descendants(enough: int) -> list[int]:
    """Processes under this one, at least `enough` + 1 if there are more. Empty if the kernel does not say."""
    pids: list[int] = []
    unread = [os.getpid()]
    while unread and len(pids) <= enough:
        pid = unread.pop()
        with contextlib.suppress(OSError):
            children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
            pids += children
            unread += children
    return pids


def _held(pid: int) -> int:
    """Bytes of the process's own memory (resident, not mapped from files), 0 if unknown."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


def _end_descendants(own_namespace: bool) -> None:
    for _ in range(200):
        with contextlib.suppress(OSError):
            if own_namespace:
                os.kill(-1, signal.SIGKILL)  # everything in the namespace but its first process
            else:
                for child in _descendants(1 << 16):
                    os.kill(child, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.005)
