"""Compilations side by side, in jobs that each have their own queue. A request that hangs or crashes costs only its own result."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from checker.compiler import CompileRequest, CompileResult, gpu_name, not_compiled
from checker.sandbox.jobs import Job, JobEnded, Jobs, WorkerFailed
from checker.sandbox.limits import PATIENCE
from checker.sandbox.protocol import ProtocolError, Task, encode
from checker.sandbox.tasks import CompileReport, MoreCompilations
from checker.submission.kernel import KernelSource

_MOST_KEPT = 512
_WORK = {"front_end": 0.1, "shared_memory": 0.2, "machine_code": 1.0}
"""How much of a job each request is worth: to start one takes as long as the front end for one variant."""
_STATUSES = ("passed", "compile_error", "timeout", "resource_limit")


class Compilations(Iterator[CompileResult]):
    """The result of each request, in order. Work begins with the constructor; `close` ends it.

    Each request may use `Limits.compile` seconds of processor time, and `PATIENCE` times that on the clock. Results are `kept`,
    because each depends only on its kernel and request, but where a launch needs the compiled files (`jobs.cache`), none is
    taken from there.
    """

    def __init__(
        self,
        jobs: Jobs,
        kept: dict[bytes, CompileResult],
        kernel: KernelSource,
        requests: Sequence[CompileRequest],
        aside: bool,
    ) -> None:
        self._kept = kept
        keys = [encode((kernel.kernel, kernel.source, request)) for request in requests]
        old = [None if jobs.cache else kept.get(key) for key in keys]
        missing = [request for request, result in zip(requests, old, strict=True) if result is None]
        work = int(sum(_WORK[request.until] for request in missing))
        width = min(jobs.width, len(missing), max(work, 1))
        self._queues = [_queue(jobs, kernel, missing[n::width], aside) for n in range(width)]
        for queue in self._queues:
            next(queue)
        turns = (self._queues[n % width] for n in range(len(missing)))
        self._due = iter(
            [(key, result, None if result else next(turns)) for key, result in zip(keys, old, strict=True)]
        )

    def __next__(self) -> CompileResult:
        key, result, queue = next(self._due)
        if queue is not None:
            result = next(queue)
        assert result is not None
        if result.status in ("passed", "compile_error"):
            self._kept[key] = result
            for oldest in list(self._kept)[:-_MOST_KEPT]:
                self._kept.pop(oldest, None)
        return result

    def close(self) -> None:
        """End the jobs that are still at work, and keep the others."""
        self._due = iter(())
        for queue in self._queues:
            queue.close()


def _queue(
    jobs: Jobs, kernel: KernelSource, requests: Sequence[CompileRequest], aside: bool
) -> Generator[CompileResult | None, None, None]:
    """None once a job is at work, then the result of each request. If a job ends over one, another takes on the rest."""
    task, due = Task("compile", kernel, jobs.limits.compile), deque(requests)
    last: CompileResult | None = None
    try:
        while due:
            with jobs.lend(task) as job:
                job.send(MoreCompilations(tuple(due), aside), len(due))
                yield last  # now, so that the next job works while we wait for others
                while True:
                    last = _answer(job, due.popleft(), task.seconds)
                    if job.closed or not due:
                        break
                    yield last
        yield last
    except WorkerFailed as error:
        yield last
        yield from (not_compiled(request, "infra_error", str(error)) for request in due)


def _answer(job: Job, request: CompileRequest, seconds: float) -> CompileResult:
    """The result that is due. Afterwards the job is closed if it cannot go on."""
    try:
        report = job.receive(CompileReport, time.monotonic() + PATIENCE * seconds)
        result = report.result
        if report.number != job.answered:
            raise ProtocolError("its number is not the expected one")
        if result.status not in _STATUSES or result.ok != (result.status == "passed"):
            raise ProtocolError("its status is not one that a compiler has")
    except ProtocolError as error:
        job.close()
        message = f"The compiler's process sent something that is no result: {error}."
        return not_compiled(request, "protocol_error", message)
    except JobEnded as ended:
        message = ended.message.replace("The kernel crashed", "The compiler crashed on this kernel")
        status = "compile_error" if ended.status == "runtime_error" else ended.status
        result = not_compiled(request, status, message, ended.printed)
    else:
        job.answered += 1
    if result.status == "timeout":
        message = f"Triton's compiler did not finish for {gpu_name(request.capability)} within {seconds:g} s."
        return not_compiled(request, "timeout", message)
    return replace(result, request=request)
