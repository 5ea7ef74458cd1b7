"""One job as the trusted side holds it: the socket to the job, the socket to its supervisor, and how it ended."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from typing import Any

from checker.sandbox.process import WorkerFailed, WorkerProcess
from checker.sandbox.wire import Channel, Closed, Frame, ProtocolError

_GRACE = 5.0


@dataclass(frozen=True)
class Ending:
    """How a job ended: a status of the result schema, words for it, and what the job had printed."""

    status: str
    message: str
    printed: str = ""


class JobEnded(Exception):
    """The job is over before it gave the result that was waited for."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.message)
        self.ending = ending


class Job:
    """Started at once; `receive` waits for frames. Use as a context manager: leaving it ends the job and all it started."""

    def __init__(self, worker: WorkerProcess, spec: dict[str, Any], start_seconds: float) -> None:
        try:
            self._start(worker, spec, start_seconds)
        except WorkerFailed:
            if worker.alive():
                raise
            self._start(worker, spec, start_seconds)  # the worker died under our hands: once more, with a new one

    def _start(self, worker: WorkerProcess, spec: dict[str, Any], start_seconds: float) -> None:
        data, far_data = socket.socketpair()
        report, far_report = socket.socketpair()
        self._data, self._report = Channel(data), Channel(report)
        self.over = False
        try:
            with far_data, far_report:
                worker.submit(spec, far_data, far_report)
            self._await_ready(time.monotonic() + start_seconds)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        return self._data.fileno()

    def send(self, body: dict[str, Any], fds: tuple[int, ...] = (), seconds: float = 5.0) -> None:
        """A job that is gone or does not read is noticed when its answer is waited for."""
        try:
            self._data.send(body, fds=fds, deadline=time.monotonic() + seconds)
        except (Closed, TimeoutError):
            return

    def receive(self, deadline: float) -> Frame:
        """The job's next frame. Raises JobEnded."""
        try:
            return self._data.receive(deadline)
        except TimeoutError:
            self.close()
            raise JobEnded(Ending("timeout", "")) from None
        except ProtocolError as error:
            self.close()
            raise JobEnded(
                Ending("protocol_error", f"The kernel's process sent something that is no result: {error}.")
            ) from None
        except Closed:
            ending = self._ending()
            self.close()
            raise JobEnded(ending) from None

    def close(self) -> None:
        """End the job with everything it started. Its supervisor sees the closed socket and cleans up by itself."""
        self.over = True
        self._data.close()
        self._report.close()

    def _await_ready(self, deadline: float) -> None:
        """Until the job's walls stand nothing of the learner's has run, so what goes wrong is not the learner's."""
        try:
            frame = self._data.receive(deadline)
        except (Closed, TimeoutError, ProtocolError) as error:
            why = f" ({self._ending().message})" if isinstance(error, Closed) else ""
            raise WorkerFailed(f"The checker's worker could not start a job: {type(error).__name__}{why}.") from error
        if frame.body != {"type": "ready"}:
            raise WorkerFailed(f"The checker's worker could not start a job: {frame.body.get('message', '')}")

    def _ending(self) -> Ending:
        try:
            frame = self._report.receive(time.monotonic() + _GRACE)
        except (Closed, TimeoutError, ProtocolError):
            return Ending(
                "protocol_error", "The process that watched over the kernel was ended before it could report."
            )
        body = frame.body
        printed = frame.blobs[0].decode(errors="replace") if frame.blobs else ""
        if body.get("type") == "broken":
            return Ending("infra_error", str(body.get("message", "")), printed)
        return _explain(body, printed)


def _explain(body: dict[str, Any], printed: str) -> Ending:
    code, number = body.get("code"), body.get("signal")
    if body.get("reason") == "processes":
        return Ending("resource_limit", "The kernel's process started more processes than it may.", printed)
    if body.get("reason") == "memory" or number == 9:
        return Ending("resource_limit", "The kernel used more memory than it may.", printed)
    if number == 24:  # SIGXCPU
        return Ending("timeout", "", printed)
    if number == 25:  # SIGXFSZ
        return Ending("resource_limit", "The kernel wrote a larger file than it may.", printed)
    if number is not None:
        name = _SIGNALS.get(number, f"signal {number}")
        return Ending("runtime_error", f"The kernel crashed: its process was ended by {name}.", printed)
    return Ending(
        "protocol_error", f"The kernel's process ended by itself (exit code {code}) before it gave a result.", printed
    )


_SIGNALS = {
    4: "SIGILL (an illegal instruction)",
    6: "SIGABRT (an abort)",
    7: "SIGBUS (a bad memory access)",
    8: "SIGFPE (an arithmetic error)",
    11: "SIGSEGV (an access to memory that is not there)",
    15: "SIGTERM",
    31: "SIGSYS (a forbidden system call)",
}
