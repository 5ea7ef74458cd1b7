"""The trusted side of plain workers: processes without isolation, for systems where we cannot isolate jobs (macOS, Windows).

A crash or an endless loop in a kernel costs a process, never the notebook. Nothing keeps a kernel from the user's files: this is for
your own code on your own machine, and grading refuses it.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from checker.sandbox.jobs import INSIDE, ONE_THREAD, Job, JobEnded, WorkerFailed
from checker.sandbox.limits import ROOT
from checker.sandbox.protocol import (
    SMALL,
    AnyMessage,
    Broken,
    Channel,
    Closed,
    JobEnd,
    JobSpec,
    JobStarted,
    Message,
    ProtocolError,
    Stop,
    WorkerReady,
    decode,
)

_MOST = 2  # processes, of about 300 MB each
_ROUND = 0.1  # seconds: Windows notices Ctrl-C only between two waits
_LAST_WORK = 3.0  # seconds that a stopped job may take for what it is in the middle of


class PlainWorkers:
    """A few processes for one job at a time each. The first starts early, the next when there is more work than one can do."""

    most_jobs: int | None = _MOST

    def __init__(self, start_seconds: float) -> None:
        self._start_seconds = start_seconds
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._free: list[PlainProcess] = []
        self._lent: set[PlainProcess] = set()
        self._folder: Path | None = None

    @property
    def files(self) -> Path | None:
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="tile-by-tile-"))
            return self._folder

    @property
    def busy(self) -> int:
        return len(self._lent)

    @property
    def pid(self) -> int | None:
        return next((process.pid for process in [*self._free, *self._lent]), None)

    def start(self) -> None:
        with self._lock:
            if not self._free and not self._lent:
                self._free.append(PlainProcess())

    def wait_ready(self) -> WorkerReady:
        with self._lock:
            self.start()
            process = next(iter([*self._free, *self._lent]))
            try:
                return process.wait_ready(self._start_seconds)
            except WorkerFailed:
                self.close()
                raise

    def start_job(self, spec: JobSpec, seconds: float) -> Job:
        with self._lock:
            self._free.sort(key=lambda process: process.ending)
            process = self._free.pop(0) if self._free else PlainProcess()
            self._lent.add(process)
        try:
            if not process.is_free():
                process.close()
                self._lent.discard(process)
                process = PlainProcess()
                self._lent.add(process)
            process.wait_ready(seconds)
            return PlainJob(self, process, spec, seconds)
        except BaseException:
            self._lent.discard(process)
            process.close()
            raise

    def give_back(self, process: PlainProcess) -> None:
        """What a job has left, whether it still runs or not. A process that ended is replaced at once."""
        with self._lock:
            if process not in self._lent:
                return
            self._lent.discard(process)
            if process.alive():
                self._free.append(process)
                return
            process.close()
            self.start()

    def remove_cache(self, name: str) -> None:
        """Nothing to do: a process has one cache for all its jobs."""

    def close(self) -> None:
        with self._lock:
            for process in [*self._free, *self._lent]:
                process.close()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
            self._reset()

    def after_fork(self) -> None:
        for process in [*self._free, *self._lent]:
            process.let_go()
        self._reset()


class PlainProcess:
    """One process, started by the constructor, which does one job after another."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="tile-by-tile-"))
        self._ready: WorkerReady | None = None
        self._channel: Channel | None = None
        self._secret = secrets.token_bytes(32)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.ending, self._getting_ready = False, threading.Lock()
        port = self._listener.getsockname()[1]
        flags = ["-P", *(["-S"] if sys.flags.no_site else [])]
        with (self._folder / "worker.log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, *flags, "-m", "checker.sandbox.plain_worker", str(port), str(self._folder)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=_environment(),
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        assert self._process.stdin is not None
        with contextlib.suppress(OSError), self._process.stdin as pipe:  # if it has ended, waiting for it says why
            pipe.write(self._secret)

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        return self._process.poll() is None

    def wait_ready(self, seconds: float) -> WorkerReady:
        """Raises WorkerFailed with the process's log if it does not get ready."""
        with self._getting_ready:
            return self._ready or self._get_ready(time.monotonic() + seconds)

    def _get_ready(self, deadline: float) -> WorkerReady:
        kinds = WorkerReady | Broken
        try:
            self._channel = self._connection(deadline)
            answer: WorkerReady | Broken | None = self.receive(kinds, deadline)  # type: ignore[arg-type]
            why = answer.message if isinstance(answer, Broken) else ""
        except (Closed, TimeoutError, ProtocolError) as error:
            answer, why = None, f"it did not get ready ({type(error).__name__})"
        if not isinstance(answer, WorkerReady):
            raise WorkerFailed(f"The checker's worker could not start: {why}\n{self._log()}".strip())
        self._ready = answer
        return answer

    def _connection(self, deadline: float) -> Channel:
        """From the process itself, which knows the secret: any program of this machine may connect."""
        with self._listener as listener:
            while True:
                self._await(listener, deadline)
                sock = listener.accept()[0]
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                channel = Channel(sock)
                with contextlib.suppress(Closed):
                    if hmac.compare_digest(channel.exactly(len(self._secret), deadline), self._secret):
                        return channel
                channel.close()

    def _await(self, sock: socket.socket | Channel, deadline: float) -> None:
        """Until there is something to read. Raises Closed if the process has ended, TimeoutError."""
        while not select.select([sock], [], [], _ROUND)[0]:
            if not self.alive():
                raise Closed
            if time.monotonic() > deadline:
                raise TimeoutError

    def send(self, message: Message) -> None:
        """Raises Closed or TimeoutError."""
        assert self._channel is not None
        self._channel.send(message, deadline=time.monotonic() + 5)

    def receive(self, kind: type[AnyMessage], deadline: float, most: int = SMALL) -> AnyMessage:
        """Raises Closed, TimeoutError or ProtocolError."""
        assert self._channel is not None
        self._await(self._channel, deadline)
        return self._channel.receive(kind, deadline, most)

    def stop_job(self) -> None:
        """Have it end its job. `is_free` waits for that."""
        self.ending = True
        with contextlib.suppress(Closed, TimeoutError, OSError):
            self.send(Stop())

    def is_free(self) -> bool:
        """Whether its last job has ended, and left a living process. Takes up to `_LAST_WORK` seconds."""
        deadline = time.monotonic() + _LAST_WORK
        try:
            while self.ending:
                assert self._channel is not None
                self._await(self._channel, deadline)
                with contextlib.suppress(ProtocolError):  # it is an answer that nobody waits for any more
                    decode(JobEnd, self._channel.frame(deadline))
                    self.ending = False
        except (Closed, TimeoutError):
            return False
        return self.alive()

    def ended(self) -> JobEnded:
        """Why its job ended with it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.poll()
        if code is not None and code < 0:
            words = f"{signal.strsignal(-code)} ended its process"
            return JobEnded("runtime_error", f"The kernel crashed: {words}.")
        if code:
            return JobEnded("runtime_error", f"The kernel crashed: its process ended with exit code {code}.")
        return JobEnded("protocol_error", "The kernel's process ended by itself before it sent a result.")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self.let_go()
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def let_go(self) -> None:
        self._listener.close()
        if self._channel is not None:
            with contextlib.suppress(OSError):
                self._channel.close()

    def _log(self) -> str:
        try:
            return (self._folder / "worker.log").read_text(errors="replace")[-4000:]
        except OSError:
            return ""


class PlainJob(Job):
    """A job of a process that has others before and after it."""

    def __init__(self, workers: PlainWorkers, process: PlainProcess, spec: JobSpec, seconds: float) -> None:
        super().__init__(spec)
        self._workers, self._process = workers, process
        try:
            process.send(spec)
            process.receive(JobStarted, time.monotonic() + seconds)
        except (Closed, TimeoutError, ProtocolError) as error:
            raise WorkerFailed(f"The checker's worker could not start a job: {type(error).__name__}.") from error

    def send(self, message: Message, count: int, fds: tuple[int, ...] = ()) -> None:
        self.requested += count
        with contextlib.suppress(Closed, TimeoutError):
            self._process.send(message)

    def receive(self, kind: type[AnyMessage], deadline: float, most: int = SMALL) -> AnyMessage:
        try:
            return self._process.receive(kind, deadline, most)
        except TimeoutError:
            ending = JobEnded("timeout")
            self._process.kill()
        except ProtocolError as error:
            ending = JobEnded("protocol_error", f"The kernel's process sent something that is no result: {error}.")
            self._process.kill()
        except Closed:
            ending = self._process.ended()
        self.close()
        raise ending

    def finish(self) -> None:
        self.close()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._process.stop_job()
            self._workers.give_back(self._process)


def _environment() -> dict[str, str]:
    folders = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(p)]
    own = {"PYTHONPATH": os.pathsep.join([str(ROOT), *folders]), INSIDE: "1"}
    return {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), **own}
