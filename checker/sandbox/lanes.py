"""Compilations side by side, one job a lane. A request that hangs or crashes costs its own result and no other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from checker.sandbox.job import Job, JobEnded
from checker.sandbox.limits import PATIENCE
from checker.sandbox.process import WorkerFailed
from checker.sandbox.wire import ProtocolError, numbered

if TYPE_CHECKING:
    from checker.compiler import CompileRequest, CompileResult

LONGEST = 64 * 1024
_STATUSES = ("passed", "compile_error", "timeout", "resource_limit")


@dataclass
class _Lane:
    """The requests that are still due, in order, and the job that works on them, which has answered `answered` of its own."""

    due: list[int]
    job: Job | None = None
    answered: int = 0


class Lanes:
    """Use as a context manager: leaving it ends the jobs. `result` has to be asked for in the order of `numbers`.

    `start` begins a job that compiles the requests it is given, one after another. `seconds` of processor time are for one
    request; by the clock it may take `PATIENCE` times that.
    """

    def __init__(
        self,
        start: Callable[[list[CompileRequest]], Job],
        requests: Sequence[CompileRequest],
        numbers: Sequence[int],
        width: int,
        seconds: float,
    ) -> None:
        self._start, self._requests, self._seconds = start, requests, seconds
        width = min(width, len(numbers))
        self._lanes = [_Lane(list(numbers[i::width])) for i in range(width)]

    def __enter__(self) -> Lanes:
        try:
            for lane in self._lanes:
                self._begin(lane)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for lane in self._lanes:
            if lane.job is not None:
                lane.job.close()

    def result(self, number: int) -> CompileResult:
        """What came of one request. Where its job ended over it, another takes on the rest of the lane."""
        lane = next(lane for lane in self._lanes if lane.due and lane.due[0] == number)
        request = self._requests[number]
        try:
            if lane.job is None:
                self._begin(lane)
            result, ended = self._received(lane, request)
        except WorkerFailed as error:
            result, ended = failed(request, "infra_error", str(error)), True
        lane.due.pop(0)
        lane.answered += 1
        if ended and lane.job is not None:
            lane.job.close()
            lane.job = None
        if ended and lane.due and result.status != "infra_error":
            try:
                self._begin(lane)  # at once, so that it works while other lanes are waited for
            except WorkerFailed:
                lane.job = None  # said by the result that is asked for next
        return result

    def _begin(self, lane: _Lane) -> None:
        lane.job, lane.answered = self._start([self._requests[n] for n in lane.due]), 0

    def _received(self, lane: _Lane, request: CompileRequest) -> tuple[CompileResult, bool]:
        """The result, and whether the job is over."""
        from checker.compiler import CompileResult
        from checker.sandbox import codec

        assert lane.job is not None
        try:
            frame = lane.job.receive(time.monotonic() + PATIENCE * self._seconds)
            body = numbered(frame, lane.answered, {"result"})
            result: CompileResult = codec.decode(CompileResult, body["result"], frame.blobs, "result")
            if result.status not in _STATUSES or result.ok != (result.status == "passed"):
                raise ProtocolError("the compiler's status is none that a compiler has")
        except ProtocolError as error:
            said = f"The compiler's process sent something that is no result: {error}."
            return failed(request, "protocol_error", said), True
        except JobEnded as ended:
            return self._failed_with_job(request, ended), True
        if result.status == "timeout":
            return self._too_slow(request), False
        return replace(result, request=request, message=result.message[:LONGEST], raw=result.raw[:LONGEST]), False

    def _failed_with_job(self, request: CompileRequest, ended: JobEnded) -> CompileResult:
        ending = ended.ending
        if ending.status == "timeout":
            return self._too_slow(request)
        if ending.status != "runtime_error":
            return failed(request, ending.status, ending.message, ending.printed)
        message = ending.message.replace("The kernel crashed", "The compiler crashed on this kernel")
        return failed(request, "compile_error", message, ending.printed)

    def _too_slow(self, request: CompileRequest) -> CompileResult:
        from checker.compiler import gpu_name

        message = f"Triton's compiler did not finish for {gpu_name(request.capability)} within {self._seconds:g} s."
        return failed(request, "timeout", message)


def failed(request: CompileRequest, status: str, message: str, raw: str = "") -> CompileResult:
    """The result of a request whose compilation could not be ended."""
    from checker.compiler import CompileResult

    return CompileResult(request, ok=False, kind="other", message=message, raw=raw[:LONGEST], status=status)
