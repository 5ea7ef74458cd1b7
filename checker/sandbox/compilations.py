"""Compilations side by side, in jobs that each have their own queue. A request that hangs or crashes costs only its own result."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cachetools import LRUCache

from checker.compiler import CompileRequest, CompileResult, gpu_name, not_compiled
from checker.sandbox.client import Job, JobEnded, Jobs, WorkerFailed
from checker.sandbox.isolation import PATIENCE
from checker.sandbox.protocol import ProtocolError, encode
from checker.sandbox.tasks import Compile, CompileReport, MoreCompilations
from checker.submission.kernel import KernelSource

_STATUSES = ("passed", "compile_error", "timeout", "resource_limit")


class CompiledResults:
    """Recent results: each depends only on its kernel and request. Safe to use from several threads."""

    def __init__(self, most: int = 512) -> None:
        self._results: LRUCache[bytes, CompileResult] = LRUCache(most)
        self._lock = threading.Lock()

    def get(self, key: bytes) -> CompileResult | None:
        with self._lock:
            return self._results.get(key)

    def keep(self, key: bytes, result: CompileResult) -> None:
        with self._lock:
            self._results[key] = result


@dataclass
class _Queue:
    """Requests that are still due, in order, and the job that works on them."""

    due: deque[int]
    job: Job | None = None


class Compilations(Iterator[CompileResult]):
    """The result of each request, in order. Work begins with the constructor; `close` ends it.

    Each request may use `Limits.compile` seconds of processor time, and `PATIENCE` times that on the clock. Where a launch needs
    the compiled files (`jobs.cache`), nothing is taken from `results`.
    """

    def __init__(
        self,
        jobs: Jobs,
        results: CompiledResults,
        kernel: KernelSource,
        requests: Sequence[CompileRequest],
        aside: bool,
    ) -> None:
        self._jobs, self._results, self._requests, self._aside = jobs, results, requests, aside
        self._task, self._seconds = Compile(kernel, jobs.limits.compile), jobs.limits.compile
        self._keys = [encode((kernel.kernel, kernel.source, request)) for request in requests]
        self._cached = [None if jobs.cache else results.get(key) for key in self._keys]
        missing = [number for number, cached in enumerate(self._cached) if cached is None]
        width = min(jobs.width, len(missing))
        self._queues = [_Queue(deque(missing[i::width])) for i in range(width)]
        self._numbers = iter(range(len(requests)))
        self._failure: WorkerFailed | None = None
        try:
            for queue in self._queues:
                self._begin(queue)
        except WorkerFailed as error:
            self._failure = error

    def __next__(self) -> CompileResult:
        number = next(self._numbers, None)
        if number is None:
            self.close()
            raise StopIteration
        cached = self._cached[number]
        if cached is not None:
            return cached
        result = self._result(number)
        if result.status in ("passed", "compile_error"):
            self._results.keep(self._keys[number], result)
        return result

    def close(self) -> None:
        """End the jobs that are still at work, and keep the others."""
        self._numbers = iter(range(0))
        for queue in self._queues:
            if queue.job is not None and queue.due:
                queue.job.close()
            elif queue.job is not None:
                self._jobs.give(queue.job)
            queue.job = None

    def _result(self, number: int) -> CompileResult:
        """If a job ends over a request, another job takes on the rest of its queue."""
        queue = next(queue for queue in self._queues if queue.due and queue.due[0] == number)
        request = self._requests[number]
        try:
            if self._failure is not None:
                raise self._failure
            if queue.job is None:
                self._begin(queue)
            result, ended = self._received(queue, request)
        except WorkerFailed as error:
            result, ended = not_compiled(request, "infra_error", str(error)), True
        queue.due.popleft()
        if ended and queue.job is not None:
            queue.job.close()
            queue.job = None
        if ended and queue.due and result.status != "infra_error":
            try:
                self._begin(queue)  # now, so that it works while we wait for other jobs
            except WorkerFailed:
                queue.job = None  # the next result tries again, and reports it
        return result

    def _begin(self, queue: _Queue) -> None:
        queue.job = self._jobs.take(self._task, programs=True, cache=self._jobs.cache)
        queue.job.send(MoreCompilations(tuple(self._requests[n] for n in queue.due), self._aside), len(queue.due))

    def _received(self, queue: _Queue, request: CompileRequest) -> tuple[CompileResult, bool]:
        """The result, and whether the job is over."""
        assert queue.job is not None
        try:
            report = queue.job.receive(CompileReport, time.monotonic() + PATIENCE * self._seconds)
            result = report.result
            if report.number != queue.job.answered:
                raise ProtocolError("its number is not the expected one")
            queue.job.answered += 1
            if result.status not in _STATUSES or result.ok != (result.status == "passed"):
                raise ProtocolError("its status is not one that a compiler has")
        except ProtocolError as error:
            message = f"The compiler's process sent something that is no result: {error}."
            return not_compiled(request, "protocol_error", message), True
        except JobEnded as ended:
            return self._failed_with_job(request, ended), True
        return (self._too_slow(request) if result.status == "timeout" else replace(result, request=request)), False

    def _failed_with_job(self, request: CompileRequest, ended: JobEnded) -> CompileResult:
        if ended.status == "timeout":
            return self._too_slow(request)
        message = ended.message.replace("The kernel crashed", "The compiler crashed on this kernel")
        status = "compile_error" if ended.status == "runtime_error" else ended.status
        return not_compiled(request, status, message, ended.printed)

    def _too_slow(self, request: CompileRequest) -> CompileResult:
        gpu = gpu_name(request.capability)
        return not_compiled(
            request, "timeout", f"Triton's compiler did not finish for {gpu} within {self._seconds:g} s."
        )
