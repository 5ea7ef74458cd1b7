"""What work goes through on the trusted side: a `Job`, the `Worker` that starts jobs, and `Jobs`, which keeps them for more work.

Imports nothing heavy, so that `import checker` can start a worker before torch is loaded.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, Self

from checker.sandbox.limits import Limits
from checker.sandbox.protocol import SMALL, AnyMessage, JobSpec, Message, Task, WorkerReady, encode

INSIDE = "TILE_BY_TILE_WORKER"
"""Set in a worker's environment, where a sandbox must not start another worker."""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class WorkerFailed(Exception):
    """The worker did not start or is gone. Never the learner's fault."""


class JobEnded(Exception):
    """The job ended before it sent the expected result: a status of the result schema, its explanation, and what the job printed."""

    def __init__(self, status: str, message: str = "", printed: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.printed = status, message, printed


class Job(ABC):
    """One job at work. Closing it (or leaving the context manager) ends it with everything it started.

    `requested` and `answered` count its launches or compilations; its users keep them up to date.
    """

    def __init__(self, spec: JobSpec) -> None:
        self.spec, self.requested, self.answered, self.closed = spec, 0, 0, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def send(self, message: Message, count: int, fds: tuple[int, ...] = ()) -> None:
        """Send `count` requests in one message. `receive` notices a job that is gone or does not read."""

    @abstractmethod
    def receive(self, kind: type[AnyMessage], deadline: float, most: int = SMALL) -> AnyMessage:
        """The job's next message, of type `kind` and at most `most` bytes. Raises JobEnded."""

    @abstractmethod
    def finish(self) -> None:
        """Request nothing more, and wait until the job has ended and left nothing behind."""

    @abstractmethod
    def close(self) -> None:
        """End the job at once."""


class Worker(Protocol):
    """What starts jobs: `client.WorkerProcess` on Linux, `plain.PlainWorkers` elsewhere. Safe to use from several threads."""

    @property
    def most_jobs(self) -> int | None:
        """How many jobs may exist at a time; None where each has a process of its own."""

    @property
    def busy(self) -> int:
        """How many jobs there are."""

    @property
    def files(self) -> Path | None:
        """The folder for files that share launches; None where a job gets descriptors."""

    @property
    def pid(self) -> int | None: ...

    def start(self) -> None:
        """Start the process and return at once; it warms up on its own."""

    def wait_ready(self) -> WorkerReady:
        """Raises WorkerFailed with the worker's log if it does not get ready."""

    def start_job(self, spec: JobSpec, seconds: float) -> Job:
        """A job that is ready for work, within `seconds`. Raises WorkerFailed."""

    def remove_cache(self, name: str) -> None:
        """Remove what jobs compiled under `name`."""

    def close(self) -> None:
        """End the worker with all its jobs, and remove its folder."""

    def after_fork(self) -> None:
        """In a forked child: let go of the parent's worker, so that it ends when the parent does."""


class Jobs:
    """The jobs of one verdict, which compiles and simulates one kernel again and again. Use as a context manager.

    A job is kept for further work on the task it was started with. `cache` is the name under which a launch on a GPU finds what
    these jobs compile; it is empty without a GPU. `width` is how many jobs may work at a time.
    """

    def __init__(self, worker: Worker, limits: Limits, cache: str, width: int) -> None:
        self.limits, self.cache, self.width, self._worker = limits, cache, width, worker
        self._idle: dict[bytes, list[Job]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_idle()
        if self.cache:
            self._worker.remove_cache(self.cache)

    def start(self, task: Task, memory: int = 0) -> Job:
        most = self._worker.most_jobs
        if most is not None and self._worker.busy >= most:
            self._end_idle()
        cache = self.cache if task.programs else ""
        return self._worker.start_job(JobSpec(task, self.limits, memory, cache), self.limits.start)

    @contextlib.contextmanager
    def lend(self, task: Task, memory: int = 0) -> Iterator[Job]:
        """A job for `task` that may use `memory` bytes for tensors. It is kept afterwards if it owes no answer."""
        idle = self._idle.setdefault(encode(task), [])
        job = idle.pop() if idle else None
        if job is not None and job.spec.memory < memory:
            job.close()
            job = None
        job = job or self.start(task, memory)
        try:
            yield job
        finally:
            if job.answered == job.requested and not job.closed:
                idle.append(job)
            else:
                job.close()

    def _end_idle(self) -> None:
        for jobs in self._idle.values():
            while jobs:
                jobs.pop().close()

    def hand_over(self) -> None:
        """End the jobs that compiled something for a launch, and wait until it lies where the launch looks for it."""
        for jobs in self._idle.values():
            for job in [job for job in jobs if job.spec.cache]:
                jobs.remove(job)
                job.finish()


class Lent(AbstractContextManager["Lent"]):
    """Jobs that several threads borrow. Leaving ends those that are still at work, so that nobody waits for their threads."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs, self._out, self._over = jobs, set[Job](), False

    def __exit__(self, *_: object) -> None:
        self._over = True
        for job in list(self._out):
            job.close()

    @contextlib.contextmanager
    def lend(self, task: Task, memory: int = 0) -> Iterator[Job]:
        with self._jobs.lend(task, memory) as job:
            self._out.add(job)
            if self._over:
                job.close()
            try:
                yield job
            finally:
                self._out.discard(job)
