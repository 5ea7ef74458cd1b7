"""Jobs that wait for more of the same work: a verdict compiles and simulates one kernel again and again."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from checker.sandbox.protocol import SMALL, ProtocolError
from checker.sandbox.worker_client import Job, JobEnded

_PATIENCE = 0.5


class KeptJobs:
    """Use as a context manager: leaving it ends the jobs. A job is kept for the task that it was started for, and no other.

    `cache` is the name under which a launch on a GPU finds what these jobs compile; empty where there is no GPU. `most` of them
    work at a time.
    """

    def __init__(self, cache: str, most: int) -> None:
        self.cache, self.most = cache, most
        self._idle: dict[bytes, list[Job]] = {}

    def __enter__(self) -> KeptJobs:
        return self

    def __exit__(self, *_: object) -> None:
        self.hand_over()
        for jobs in self._idle.values():
            for job in jobs:
                job.close()
        self._idle.clear()

    def hand_over(self) -> None:
        """End the jobs that compiled something for a launch, and wait until it lies where the launch looks for it."""
        for jobs in self._idle.values():
            for job in [job for job in jobs if job.spec.cache]:
                jobs.remove(job)
                job.finish()

    @contextlib.contextmanager
    def lend(self, task: bytes, memory: int, start: Callable[[], Job]) -> Iterator[Job]:
        """A job for `task` that may take `memory` bytes. What is asked of it and not waited for is waited for by the next user."""
        job = self.take(task, memory, start)
        try:
            yield job
        except GeneratorExit:  # enough was seen
            self.give(task, job)
            raise
        except BaseException:
            job.close()
            raise
        self.give(task, job)

    def take(self, task: bytes, memory: int, start: Callable[[], Job]) -> Job:
        idle = self._idle.get(task, [])
        while idle:
            job = idle.pop()
            if job.spec.memory >= memory and _answered(job):
                return job
            job.close()
        return start()

    def give(self, task: bytes, job: Job) -> None:
        """Keep a job that is alive."""
        if not job.closed:
            self._idle.setdefault(task, []).append(job)


def _answered(job: Job) -> bool:
    """Wait for what nobody waited for. False where the job is not soon done with it, or has ended."""
    from checker.sandbox.tasks import LaunchReport
    from checker.simulator.trace_codec import MAX_BYTES

    deadline = time.monotonic() + _PATIENCE
    try:
        while job.answered < job.asked:
            report = job.receive(LaunchReport, deadline, SMALL + MAX_BYTES)
            job.answered += 1
            if report.status != "passed":
                return False
    except (JobEnded, ProtocolError):
        return False
    return True
