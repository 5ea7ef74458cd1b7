"""The trusted side of the worker and its jobs on Linux: start them, hand work over, explain how they ended.

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
from checker.sandbox.jobs import INSIDE, ONE_THREAD, Job, JobEnded, WorkerFailed
from checker.sandbox.limits import CACHE, ROOT
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

_KEPT = (
    *("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CC", "CXX"),
    *("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"),
    *("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH", "TRITON_LIBCUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"),
)
_GRACE = 5.0  # seconds for the supervisor's report
_COMMAND = (sys.executable, "-s", "-P", "-m", "checker.sandbox.worker")


class WorkerProcess:
    """One worker, restarted when it is gone. Safe to use from several threads and after a fork."""

    most_jobs = files = None
    busy = 0

    def __init__(self, start_seconds: float, layers: Collection[str]) -> None:
        self._start_seconds, self._layers = start_seconds, "+".join(layers)
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: Channel | None = None
        self._ready: WorkerReady | None = None
        self._folder = Path()

    def start(self) -> None:
        """Start the process and return at once; it warms up on its own."""
        with self._lock:
            if self._process is not None:
                return
            self._folder = Path(tempfile.mkdtemp(prefix="tile-by-tile-"))
            self._folder.chmod(0o711)  # a job that runs as another user has to reach its own folder in it
            near, far = socket.socketpair()
            with far, (self._folder / "worker.log").open("wb") as log:
                self._process = subprocess.Popen(
                    [*_COMMAND, str(far.fileno()), str(self._folder), self._layers],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self._folder,
                    env=_environment(),
                    pass_fds=(far.fileno(),),
                    start_new_session=True,
                )
            self._control = Channel(near)

    def wait_ready(self) -> WorkerReady:
        """Raises WorkerFailed with the worker's log if it does not get ready."""
        with self._lock:
            self.start()
            if self._ready is None:
                try:
                    answer = self._first_message(time.monotonic() + self._start_seconds)
                    why = answer.message if isinstance(answer, Broken) else ""
                except (Closed, TimeoutError, ProtocolError) as error:
                    answer, why = None, f"it did not get ready ({type(error).__name__})"
                if not isinstance(answer, WorkerReady):
                    message = f"The checker's worker could not start: {why}\n{self._log()}".strip()
                    self.close()
                    raise WorkerFailed(message)
                self._ready = answer
            return self._ready

    def _first_message(self, deadline: float) -> WorkerReady | Broken | Exposed:
        assert self._control is not None
        kinds = WorkerReady | Broken | Exposed
        answer: WorkerReady | Broken | Exposed = self._control.receive(kinds, deadline)  # type: ignore[arg-type]
        if isinstance(answer, Exposed):
            linux.prctl(linux.PR_SET_DUMPABLE, 0)
            self._control.send(Hidden(), deadline=deadline)
            answer = self._control.receive(kinds, deadline)  # type: ignore[arg-type]
        return answer

    def submit(self, spec: JobSpec, data: socket.socket, report: socket.socket) -> None:
        """Hand a job and its two sockets to the worker, which is replaced if it has died. Raises WorkerFailed."""
        with self._lock:
            if not self.alive():
                self.close()
            self.wait_ready()
            assert self._control is not None
            try:
                self._control.send(spec, fds=(data.fileno(), report.fileno()), deadline=time.monotonic() + 10)
            except (Closed, TimeoutError) as error:
                self.close()
                raise WorkerFailed("The checker's worker accepts no jobs.") from error

    def start_job(self, spec: JobSpec, seconds: float) -> Job:
        return ForkedJob(self, spec, seconds)

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def close(self) -> None:
        """End the worker with all its jobs, and remove its folder."""
        with self._lock:
            if self._process is not None and self._control is not None:
                self._control.close()
                try:
                    self._process.wait(2 if self._ready else 0)  # until it is ready, it reads nothing
                except subprocess.TimeoutExpired:
                    self._process.kill()
                    self._process.wait()
                shutil.rmtree(self._folder, ignore_errors=True)
            self._process, self._control, self._ready, self._folder = None, None, None, Path()

    def remove_cache(self, name: str) -> None:
        """Remove what jobs compiled under `name`."""
        if self.alive():
            shutil.rmtree(self._folder / f"{CACHE}-{name}", ignore_errors=True)

    def after_fork(self) -> None:
        """In a forked child: let go of the parent's worker, so that it ends when the parent does."""
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.close()
        self._reset()

    def _log(self) -> str:
        try:
            return (self._folder / "worker.log").read_text(errors="replace")[-4000:]
        except OSError:
            return ""


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    folders = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(p)]
    own = {"PYTHONPATH": os.pathsep.join([str(ROOT), *folders]), INSIDE: "1", "CUDA_CACHE_DISABLE": "1"}
    return kept | dict.fromkeys(ONE_THREAD, "1") | own


class ForkedJob(Job):
    """A job in a process of its own, started by the constructor."""

    def __init__(self, worker: WorkerProcess, spec: JobSpec, start_seconds: float) -> None:
        super().__init__(spec)
        try:
            self._start(worker, start_seconds)
        except WorkerFailed:
            if worker.alive():
                raise
            self._start(worker, start_seconds)  # the worker died under our hands: try once more, with a new one

    def _start(self, worker: WorkerProcess, start_seconds: float) -> None:
        data, job_end_of_data = socket.socketpair()
        report, job_end_of_report = socket.socketpair()
        self._data, self._report, self.closed = Channel(data), Channel(report), False
        try:
            with job_end_of_data, job_end_of_report:
                worker.submit(self.spec, job_end_of_data, job_end_of_report)
            self._await_start(time.monotonic() + start_seconds)
        except BaseException:
            self.close()
            raise

    def _await_start(self, deadline: float) -> None:
        """Nothing of the learner's runs until the job is isolated, so whatever goes wrong before is not the learner's fault."""
        try:
            self._data.receive(JobStarted, deadline)
        except (Closed, TimeoutError, ProtocolError) as error:
            why = f" ({self._ending().message})" if isinstance(error, Closed) else ""
            raise WorkerFailed(f"The checker's worker could not start a job: {type(error).__name__}{why}.") from error

    def send(self, message: Message, count: int, fds: tuple[int, ...] = ()) -> None:
        self.requested += count
        with contextlib.suppress(Closed, TimeoutError):
            self._data.send(message, fds=fds, deadline=time.monotonic() + 5)

    def receive(self, kind: type[AnyMessage], deadline: float, most: int = SMALL) -> AnyMessage:
        try:
            return self._data.receive(kind, deadline, most)
        except TimeoutError:
            ending = JobEnded("timeout")
        except ProtocolError as error:
            ending = JobEnded("protocol_error", f"The kernel's process sent something that is no result: {error}.")
        except Closed:
            ending = JobEnded("timeout") if self.closed else self._ending()
        self.close()
        raise ending

    def finish(self) -> None:
        """Request nothing more, and wait until the job has ended and its supervisor has cleaned up."""
        self._data.close()
        with contextlib.suppress(Closed, TimeoutError, ProtocolError):
            self._report.receive(JobEnd, time.monotonic() + _GRACE)
        self.close()

    def close(self) -> None:
        """End the job. Its supervisor notices the closed socket and cleans up on its own."""
        self.closed = True
        self._data.end()
        self._report.end()

    def _ending(self) -> JobEnded:
        try:
            end: JobEnd | Broken = self._report.receive(JobEnd | Broken, time.monotonic() + _GRACE)  # type: ignore[arg-type]
        except (Closed, TimeoutError, ProtocolError):
            return JobEnded("protocol_error", "The process that watched over the kernel ended before it could report.")
        return JobEnded("infra_error", end.message) if isinstance(end, Broken) else _explain(end)


def _explain(end: JobEnd) -> JobEnded:
    if end.reason == "processes":
        status, message = "resource_limit", "The kernel's process started more processes than it may."
    elif end.reason == "memory" or end.signal == signal.SIGKILL:
        status, message = "resource_limit", "The kernel used more memory than it may."
    elif end.signal == signal.SIGXCPU:
        status, message = "timeout", ""
    elif end.signal == signal.SIGXFSZ:
        status, message = "resource_limit", "The kernel wrote a larger file than it may."
    elif end.signal is not None:
        name = next((known.name for known in signal.Signals if known == end.signal), f"signal {end.signal}")
        status, message = (
            "runtime_error",
            f"The kernel crashed: {name} ({signal.strsignal(end.signal)}) ended its process.",
        )
    else:
        message = f"The kernel's process ended by itself (exit code {end.code}) before it sent a result."
        status = "protocol_error"
    return JobEnded(status, message, end.printed.decode(errors="replace"))
