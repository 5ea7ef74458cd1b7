"""Compilations side by side, each of several jobs with its own queue. A request that hangs or crashes costs its own result only."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from checker.sandbox.isolation import PATIENCE
from checker.sandbox.protocol import ProtocolError
from checker.sandbox.worker_client import Job, JobEnded, WorkerFailed

if TYPE_CHECKING:
    from checker.compiler import CompileRequest, CompileResult

_STATUSES = ("passed", "compile_error", "timeout", "resource_limit")


@dataclass
class _Queue:
    """The requests that are still due, in order, and the job that works on them."""

    due: list[int]
    job: Job | None = None


class CompilePool:
    """Use as a context manager: leaving it ends the jobs that are not done. `result` has to be asked for in the order of `numbers`.

    `take` gives a job that compiles what it is asked to, one request after another, and `give` gets it back when it is done.
    `seconds` of processor time are for one request; by the clock it may take `PATIENCE` times that.
    """

    def __init__(
        self,
        take: Callable[[], Job],
        give: Callable[[Job], None],
        requests: Sequence[CompileRequest],
        numbers: Sequence[int],
        width: int,
        seconds: float,
        aside: bool,
    ) -> None:
        self._take, self._give, self._requests, self._seconds, self._aside = take, give, requests, seconds, aside
        width = min(width, len(numbers))
        self._queues = [_Queue(list(numbers[i::width])) for i in range(width)]

    def __enter__(self) -> CompilePool:
        try:
            for queue in self._queues:
                self._begin(queue)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for queue in self._queues:
            if queue.job is not None and queue.due:
                queue.job.close()
            elif queue.job is not None:
                self._give(queue.job)

    def result(self, number: int) -> CompileResult:
        """What came of one request. Where its job ended over it, another takes on the rest of the queue."""
        queue = next(queue for queue in self._queues if queue.due and queue.due[0] == number)
        request = self._requests[number]
        try:
            if queue.job is None:
                self._begin(queue)
            result, ended = self._received(queue, request)
        except WorkerFailed as error:
            result, ended = failed(request, "infra_error", str(error)), True
        queue.due.pop(0)
        if ended and queue.job is not None:
            queue.job.close()
            queue.job = None
        if ended and queue.due and result.status != "infra_error":
            try:
                self._begin(queue)  # at once, so that it works while other jobs are waited for
            except WorkerFailed:
                queue.job = None  # said by the result that is asked for next
        return result

    def _begin(self, queue: _Queue) -> None:
        from checker.sandbox.tasks import AskedToCompile

        queue.job = self._take()
        queue.job.asked += len(queue.due)
        queue.job.send(AskedToCompile(tuple(self._requests[n] for n in queue.due), self._aside))

    def _received(self, queue: _Queue, request: CompileRequest) -> tuple[CompileResult, bool]:
        """The result, and whether the job is over."""
        from checker.sandbox.tasks import CompileReport

        assert queue.job is not None
        try:
            report = queue.job.receive(CompileReport, time.monotonic() + PATIENCE * self._seconds)
            result = report.result
            if report.number != queue.job.answered:
                raise ProtocolError("the result is not the one that is due")
            queue.job.answered += 1
            if result.status not in _STATUSES or result.ok != (result.status == "passed"):
                raise ProtocolError("the compiler's status is none that a compiler has")
        except ProtocolError as error:
            said = f"The compiler's process sent something that is no result: {error}."
            return failed(request, "protocol_error", said), True
        except JobEnded as ended:
            return self._failed_with_job(request, ended), True
        if result.status == "timeout":
            return self._too_slow(request), False
        return replace(result, request=request), False

    def _failed_with_job(self, request: CompileRequest, ended: JobEnded) -> CompileResult:
        if ended.status == "timeout":
            return self._too_slow(request)
        if ended.status != "runtime_error":
            return failed(request, ended.status, ended.message, ended.printed)
        message = ended.message.replace("The kernel crashed", "The compiler crashed on this kernel")
        return failed(request, "compile_error", message, ended.printed)

    def _too_slow(self, request: CompileRequest) -> CompileResult:
        from checker.compiler import gpu_name

        message = f"Triton's compiler did not finish for {gpu_name(request.capability)} within {self._seconds:g} s."
        return failed(request, "timeout", message)


def failed(request: CompileRequest, status: str, message: str, raw: str = "") -> CompileResult:
    """The result of a request whose compilation could not be ended."""
    from checker.compiler import CompileResult

    return CompileResult(request, ok=False, kind="other", message=message, raw=raw, status=status)
