"""The worker and its jobs as the trusted side holds them: start, hand over, notice how they end, start again.

Imports nothing heavy, so that `import checker` can start a worker before torch is loaded.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection
from pathlib import Path

from checker.sandbox import linux
from checker.sandbox.forked_worker import ForkedWorker, fork
from checker.sandbox.isolation import CACHE, ROOT
from checker.sandbox.protocol import (
    SMALL,
    AnyMessage,
    Broken,
    Channel,
    Closed,
    Exposed,
    Hidden,
    JobEnd,
    JobSpec,
    JobStarted,
    Message,
    ProtocolError,
    WorkerReady,
)

INSIDE = "TILE_BY_TILE_WORKER"
"""Set in a worker's environment: a sandbox does not start another one inside itself."""
_KEPT = (
    *("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CC", "CXX"),
    *("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"),
    *("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH", "TRITON_LIBCUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"),
)
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")

_GRACE = 5.0  # for the supervisor's report
_COMMAND = (sys.executable, "-s", "-P", "-m", "checker.sandbox.worker")


class WorkerFailed(Exception):
    """The worker could not be started or is gone; never the learner's fault."""


class WorkerProcess:
    """One worker, restarted when it is gone. Safe to use from several threads and after a fork."""

    def __init__(self, start_seconds: float, layers: Collection[str]) -> None:
        self._start_seconds = start_seconds
        self._layers = "+".join(layers)
        self._lock = threading.RLock()
        self._owner = -1
        self._process: subprocess.Popen[bytes] | ForkedWorker | None = None
        self._control: Channel | None = None
        self._ready: WorkerReady | None = None
        self._folder = Path()

    def start(self) -> None:
        """Start the process and return at once; it warms up by itself."""
        with self._lock:
            if self._process is not None and self._owner == os.getpid():
                return
            self._clear()
            self._owner = os.getpid()
            self._folder = Path(tempfile.mkdtemp(prefix="tile-by-tile-"))
            self._folder.chmod(0o711)  # a job that runs as another user has to reach its own folder in it
            near, far = socket.socketpair()
            with far, (self._folder / "worker.log").open("wb") as log:
                environment = _environment()
                forked = fork(far, log.fileno(), self._folder, self._layers, environment)
                self._process = forked or subprocess.Popen(
                    [*_COMMAND, str(far.fileno()), str(self._folder), self._layers],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self._folder,
                    env=environment,
                    pass_fds=(far.fileno(),),
                    start_new_session=True,
                )
            self._control = Channel(near)

    def wait_ready(self) -> WorkerReady:
        """Raises WorkerFailed, with what the worker printed, where it does not get ready."""
        with self._lock:
            self.start()
            if self._ready is None:
                try:
                    answer = self._first_word(time.monotonic() + self._start_seconds)
                    why = answer.message if isinstance(answer, Broken) else ""
                except (Closed, TimeoutError, ProtocolError) as error:
                    answer, why = None, f"it did not get ready ({type(error).__name__})"
                if not isinstance(answer, WorkerReady):
                    message = f"The checker's worker could not start: {why}\n{self._log()}".strip()
                    self.close()
                    raise WorkerFailed(message)
                self._ready = answer
            return self._ready

    def _first_word(self, deadline: float) -> WorkerReady | Broken | Exposed:
        assert self._control is not None
        answers = WorkerReady | Broken | Exposed
        answer: WorkerReady | Broken | Exposed = self._control.receive(answers, deadline)  # type: ignore[arg-type]
        if isinstance(answer, Exposed):
            linux.prctl(linux.PR_SET_DUMPABLE, 0)
            self._control.send(Hidden(), deadline=deadline)
            answer = self._control.receive(answers, deadline)  # type: ignore[arg-type]
        return answer

    def submit(self, spec: JobSpec, data: socket.socket, report: socket.socket) -> None:
        """Hand a job and its two sockets to the worker; a dead worker is replaced. Raises WorkerFailed."""
        with self._lock:
            if not self.alive():
                self.close()
            self.wait_ready()
            assert self._control is not None
            try:
                self._control.send(spec, fds=(data.fileno(), report.fileno()), deadline=time.monotonic() + 10)
            except (Closed, TimeoutError) as error:
                self.close()
                raise WorkerFailed("The checker's worker takes no jobs.") from error

    def alive(self) -> bool:
        """Whether the worker's process is there."""
        return self._process is not None and self._owner == os.getpid() and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def close(self) -> None:
        """End the worker and every job of it, and remove its folder."""
        with self._lock:
            if self._owner == os.getpid() and self._process is not None:
                assert self._control is not None
                self._control.close()
                try:
                    self._process.wait(2)
                except (subprocess.TimeoutExpired, TimeoutError):
                    self._process.kill()
                    self._process.wait()
                shutil.rmtree(self._folder, ignore_errors=True)
            self._clear()

    def forget(self, cache: str) -> None:
        """Remove what jobs compiled under this name."""
        if self.alive():
            shutil.rmtree(self._folder / f"{CACHE}-{cache}", ignore_errors=True)

    def after_fork(self) -> None:
        """In a forked child: let go of the parent's worker, so that it ends when the parent does."""
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.close()
        self._lock = threading.RLock()
        self._clear()

    def _clear(self) -> None:
        self._owner, self._process, self._control, self._ready, self._folder = -1, None, None, None, Path()

    def _log(self) -> str:
        try:
            return (self._folder / "worker.log").read_text(errors="replace")[-4000:]
        except OSError:
            return ""


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    folders = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(p)]
    own = {"PYTHONPATH": os.pathsep.join([str(ROOT), *folders]), INSIDE: "1", "CUDA_CACHE_DISABLE": "1"}
    return kept | dict.fromkeys(_ONE_THREAD, "1") | own


# the jobs -------------------------------------------------------------------------------------------------------------


class JobEnded(Exception):
    """The job is over before it gave the result that was waited for: a status of the result schema, words for it, what it printed."""

    def __init__(self, status: str, message: str = "", printed: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.printed = status, message, printed


class Job:
    """Started at once; `receive` waits for frames. Use as a context manager: leaving it ends the job and all it started.

    `asked` and `answered` are for its users: how many launches or compilations.
    """

    def __init__(self, worker: WorkerProcess, spec: JobSpec, start_seconds: float) -> None:
        self.spec, self.asked, self.answered = spec, 0, 0
        try:
            self._start(worker, spec, start_seconds)
        except WorkerFailed:
            if worker.alive():
                raise
            self._start(worker, spec, start_seconds)  # the worker died under our hands: once more, with a new one

    def _start(self, worker: WorkerProcess, spec: JobSpec, start_seconds: float) -> None:
        data, job_end_of_data = socket.socketpair()
        report, job_end_of_report = socket.socketpair()
        self._data, self._report, self.closed = Channel(data), Channel(report), False
        try:
            with job_end_of_data, job_end_of_report:
                worker.submit(spec, job_end_of_data, job_end_of_report)
            self._await_ready(time.monotonic() + start_seconds)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, message: Message, fds: tuple[int, ...] = (), seconds: float = 5.0) -> None:
        """A job that is gone or does not read is noticed when its answer is waited for."""
        with contextlib.suppress(Closed, TimeoutError):
            self._data.send(message, fds=fds, deadline=time.monotonic() + seconds)

    def receive(self, kind: type[AnyMessage], deadline: float, most: int = SMALL) -> AnyMessage:
        """The job's next message, of type `kind` and at most `most` bytes. Raises JobEnded."""
        try:
            return self._data.receive(kind, deadline, most)
        except TimeoutError:
            self.close()
            raise JobEnded("timeout") from None
        except ProtocolError as error:
            self.close()
            raise JobEnded("protocol_error", no_result(error)) from None
        except Closed:
            ending = self._ending()
            self.close()
            raise ending from None

    def finish(self) -> None:
        """Ask for nothing more, and wait until the job has ended and its supervisor has cleaned up."""
        self._data.close()
        with contextlib.suppress(Closed, TimeoutError, ProtocolError):
            self._report.receive(JobEnd, time.monotonic() + _GRACE)
        self.close()

    def close(self) -> None:
        """End the job with everything it started. Its supervisor sees the closed socket and cleans up by itself."""
        self.closed = True
        self._data.close()
        self._report.close()

    def _await_ready(self, deadline: float) -> None:
        """Until the job is isolated nothing of the learner's has run, so what goes wrong is not the learner's."""
        try:
            self._data.receive(JobStarted, deadline)
        except (Closed, TimeoutError, ProtocolError) as error:
            why = f" ({self._ending().message})" if isinstance(error, Closed) else ""
            raise WorkerFailed(f"The checker's worker could not start a job: {type(error).__name__}{why}.") from error

    def _ending(self) -> JobEnded:
        try:
            end: JobEnd | Broken = self._report.receive(JobEnd | Broken, time.monotonic() + _GRACE)  # type: ignore[arg-type]
        except (Closed, TimeoutError, ProtocolError):
            return JobEnded(
                "protocol_error", "The process that watched over the kernel was ended before it could report."
            )
        return JobEnded("infra_error", end.message) if isinstance(end, Broken) else _explain(end)


def no_result(error: ProtocolError) -> str:
    return f"The kernel's process sent something that is no result: {error}."


def _explain(end: JobEnd) -> JobEnded:
    printed = end.printed.decode(errors="replace")
    if end.reason == "processes":
        return JobEnded("resource_limit", "The kernel's process started more processes than it may.", printed)
    if end.reason == "memory" or end.signal == signal.SIGKILL:
        return JobEnded("resource_limit", "The kernel used more memory than it may.", printed)
    if end.signal == signal.SIGXCPU:
        return JobEnded("timeout", "", printed)
    if end.signal == signal.SIGXFSZ:
        return JobEnded("resource_limit", "The kernel wrote a larger file than it may.", printed)
    if end.signal is not None:
        name = _SIGNALS.get(end.signal, f"signal {end.signal}")
        return JobEnded("runtime_error", f"The kernel crashed: its process was ended by {name}.", printed)
    message = f"The kernel's process ended by itself (exit code {end.code}) before it gave a result."
    return JobEnded("protocol_error", message, printed)


_SIGNALS = {
    4: "SIGILL (an illegal instruction)",
    6: "SIGABRT (an abort)",
    7: "SIGBUS (a bad memory access)",
    8: "SIGFPE (an arithmetic error)",
    11: "SIGSEGV (an access to memory that is not there)",
    15: "SIGTERM",
    31: "SIGSYS (a forbidden system call)",
}
