"""What a job answers about a launch, read with suspicion: foreign code ran beside what sent it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from checker.sandbox.job import Job, JobEnded
from checker.sandbox.lanes import LONGEST
from checker.sandbox.wire import Frame, ProtocolError, numbered

if TYPE_CHECKING:
    from checker.gpu import Timing
    from checker.judge.runner import RunResult
    from checker.sandbox.tensors import Shared
    from checker.simulator.trace import Trace


def run_result(job: Job, number: int, shared: Shared, deadline: float, seconds: float) -> RunResult:
    """What became of launch `number`: waits until `deadline` (by `time.monotonic`). Nothing the job says is believed unchecked."""
    from checker.judge.runner import RunResult
    from checker.sandbox import codec

    too_long = f"The kernel did not finish within {seconds:g} s."
    try:
        frame = job.receive(deadline)
        body = numbered(frame, number, {"outcome", "trace"})
        outcome = codec.decode(_outcome_type(), body["outcome"], (), "outcome")
        trace = _trace(body["trace"], frame.blobs)
    except ProtocolError as error:
        return RunResult("protocol_error", message=f"The kernel's process sent something that is no result: {error}.")
    except JobEnded as ended:
        ending = ended.ending
        message = too_long if ending.status == "timeout" else ending.message
        return RunResult(ending.status, message=message, detail=ending.printed[-LONGEST:])  # type: ignore[arg-type]
    return RunResult(
        outcome.status,
        tensors=shared.results() if outcome.status == "passed" else {},
        trace=trace,
        message=too_long if outcome.status == "timeout" else outcome.message[:LONGEST],
        detail=outcome.detail[:LONGEST],
        line=outcome.line,
        seconds=outcome.seconds,
    )


def timing(frame: Frame, number: int) -> Timing:
    """The timing of launch `number` that a job sent. Raises RuntimeError with its reason where there is none, and ProtocolError."""
    from checker import gpu
    from checker.sandbox import codec

    body = numbered(frame, number, {"outcome", "timing"} & frame.body.keys() | {"outcome"})
    outcome = codec.decode(_outcome_type(), body["outcome"], frame.blobs, "outcome")
    if outcome.status != "passed":
        raise RuntimeError(outcome.message)
    told: Timing = codec.decode(gpu.Timing, body.get("timing"), (), "timing")
    return told


def _outcome_type() -> type:
    from checker.sandbox.jobs import Outcome

    return Outcome


def _trace(data: Any, blobs: Sequence[bytes]) -> Trace | None:
    from checker.simulator import trace_codec

    if data is None:
        return None
    if data != "blob 0" or len(blobs) != 1:
        raise ProtocolError("the trace is not one")
    try:
        return trace_codec.decode(blobs[0])
    except trace_codec.MalformedTrace as error:
        raise ProtocolError(f"the trace is not one: {error}") from error
