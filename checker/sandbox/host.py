"""`Sandbox`: compiles, simulates and launches kernels in another process, and reads what comes back with suspicion.

The module itself imports nothing heavy; torch is imported when the first launch is handed over.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from checker.sandbox.isolation import LAYERS
from checker.sandbox.job import Job, JobEnded
from checker.sandbox.limits import PATIENCE, Limits
from checker.sandbox.process import INSIDE, Ready, WorkerFailed, WorkerProcess
from checker.sandbox.wire import Frame, ProtocolError

if TYPE_CHECKING:
    from checker.compiler import CompileRequest, CompileResult
    from checker.gpu import Timing
    from checker.judge.runner import RunResult
    from checker.puzzle import Launch
    from checker.sandbox.tensors import Shared
    from checker.simulator.trace import SimulateOptions, Trace
    from checker.submission.kernel import KernelSource

_AHEAD = 2  # launches handed over before the first result is read, so that judging and running overlap
_REMEMBERED = 512
_LONGEST = 64 * 1024
_GRACE = 2.0
_COMPILE_STATUSES = ("passed", "compile_error", "resource_limit")


class Sandbox:
    """Runs learners' kernels; implements `checker.judge.runner.Runner`.

    Starting is cheap: the worker warms up by itself and is waited for by the first job. Jobs may be asked for from several
    threads at once. Where a generator is left early (or interrupted), its job ends there and then.
    """

    def __init__(self, limits: Limits | None = None, *, layers: Collection[str] = LAYERS) -> None:
        """`layers` are those that may be used (all that hold on this machine are); fewer are for tests and for debugging."""
        self.limits = limits or Limits()
        self._worker = WorkerProcess(self.limits.start, layers)
        self._compiled: OrderedDict[str, CompileResult] = OrderedDict()
        self._lock = threading.Lock()
        _OPEN.add(self)

    @staticmethod
    def shared() -> Sandbox:
        """The one warm sandbox of this process, its worker started in the background by the first call."""
        global _shared
        with _shared_lock:
            if _shared is None:
                _shared = Sandbox()
                if INSIDE not in os.environ:
                    _shared.start()
            return _shared

    def start(self) -> None:
        """Start the worker and return at once."""
        self._worker.start()

    def close(self) -> None:
        """End the worker and all its jobs. The sandbox starts a new one if it is used again."""
        self._worker.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def tier(self) -> str:
        """The layers of isolation in force (see `isolation.py`), e.g. ``namespaces+landlock+seccomp+rlimits``."""
        return "+".join((*self._ready().layers, "rlimits"))

    @property
    def gaps(self) -> tuple[str, ...]:
        """What a trial job was able to do although it should not (names of `probe.GAPS`); empty where the walls hold."""
        return self._ready().gaps

    def ping(self) -> float:
        """Seconds that a job takes which does nothing."""
        began = time.perf_counter()
        with self._job({"kind": "nothing", "cpu_seconds": 10}, None):
            pass
        return time.perf_counter() - began

    # ------------------------------------------------------------------------------------------------------- compile

    def compile(self, kernel: KernelSource, requests: Sequence[CompileRequest]) -> Iterator[CompileResult]:
        """One result per request, in order; the first that is not ok is the last. Work is spread over the processors.

        What a request gives does not depend on anything but kernel and request, so it is remembered.
        """
        keys = [_compile_key(kernel, request) for request in requests]
        missing = [n for n, key in enumerate(keys) if key not in self._compiled]
        lanes = [missing[i :: os.cpu_count() or 1] for i in range(min(os.cpu_count() or 1, len(missing)))]
        deadline = time.monotonic() + self.limits.compile
        with ExitStack() as stack:
            jobs: dict[int, tuple[Job, int]] = {}
            try:
                for lane in lanes:
                    job = stack.enter_context(self._compile_job(kernel, [requests[n] for n in lane]))
                    jobs.update({n: (job, position) for position, n in enumerate(lane)})
            except WorkerFailed as error:
                yield _compile_failed(requests[missing[0]], "infra_error", str(error))
                return
            for number, (key, request) in enumerate(zip(keys, requests, strict=True)):
                result = self._compiled.get(key) or self._compile_result(*jobs[number], request, deadline)
                if result.status in ("passed", "compile_error"):
                    self._remember(key, result)
                yield result
                if not result.ok:
                    return

    def _compile_job(self, kernel: KernelSource, requests: list[CompileRequest]) -> Job:
        from checker.sandbox import codec

        bodies = [codec.encode(request, []) for request in requests]
        return self._job({"kind": "compile", "cpu_seconds": self.limits.compile + 5, "requests": bodies}, kernel)

    def _compile_result(self, job: Job, position: int, request: CompileRequest, deadline: float) -> CompileResult:
        from checker.compiler import CompileResult
        from checker.sandbox import codec

        try:
            frame = job.receive(deadline)
            body = _numbered(frame, position, {"result"})
            result: CompileResult = codec.decode(CompileResult, body["result"], frame.blobs, "result")
            if result.status not in _COMPILE_STATUSES or result.ok != (result.status == "passed"):
                raise ProtocolError("the compiler's status is none that a compiler has")
        except ProtocolError as error:
            job.close()
            return _compile_failed(
                request, "protocol_error", f"The compiler's process sent something that is no result: {error}."
            )
        except JobEnded as ended:
            message = ended.ending.message
            if ended.ending.status == "timeout":
                message = f"The compiler did not finish within {self.limits.compile:g} s."
            status = "compile_error" if ended.ending.status == "runtime_error" else ended.ending.status
            if status == "compile_error":
                message = message.replace("The kernel crashed", "The compiler crashed on this kernel")
            return _compile_failed(request, status, message, ended.ending.printed)
        return replace(result, request=request, message=result.message[:_LONGEST], raw=result.raw[:_LONGEST])

    def _remember(self, key: str, result: CompileResult) -> None:
        with self._lock:
            self._compiled[key] = result
            self._compiled.move_to_end(key)
            while len(self._compiled) > _REMEMBERED:
                self._compiled.popitem(last=False)

    # ----------------------------------------------------------------------------------------------- simulate, launch

    def simulate(
        self, kernel: KernelSource, launches: Sequence[Launch], options: SimulateOptions | None = None
    ) -> Iterator[RunResult]:
        """Each launch in the CPU simulator, with its trace."""
        from checker.sandbox import codec
        from checker.simulator.trace import SimulateOptions

        spec = {
            "kind": "simulate",
            "options": codec.encode(options or SimulateOptions(), []),
            "seconds": self.limits.simulate,
            "cpu_seconds": self.limits.simulate * len(launches) + 30,
        }
        return self._launches(kernel, launches, spec, wall=PATIENCE * self.limits.simulate)

    def launch(self, kernel: KernelSource, launches: Sequence[Launch]) -> Iterator[RunResult]:
        """Each launch on the GPU, in a process that ends with this call; ``infra_error`` where there is no GPU."""
        from checker import gpu
        from checker.judge.runner import RunResult

        if launches and not gpu.available():
            return iter([RunResult("infra_error", message="There is no GPU here that PyTorch can use.")])
        seconds = self.limits.launch
        spec = {"kind": "launch", "seconds": seconds, "cpu_seconds": seconds * len(launches) + 60}
        return self._launches(kernel, launches, spec, wall=seconds + _GRACE)

    def time(self, kernel: KernelSource, launch: Launch) -> Timing:
        """How long one launch takes on the GPU. Raises RuntimeError with the reason where it cannot be timed."""
        from checker import gpu
        from checker.sandbox import codec
        from checker.sandbox.tensors import Shared

        shared = Shared(launch)
        try:
            with self._job({"kind": "time", "cpu_seconds": 600}, kernel) as job:
                job.send({"launch": shared.body()}, (shared.fd,))
                frame = job.receive(time.monotonic() + self.limits.launch)
                body = _numbered(frame, 0, {"outcome", "timing"} & frame.body.keys() | {"outcome"})
                outcome = codec.decode(_outcome_type(), body["outcome"], frame.blobs, "outcome")
                if outcome.status != "passed":
                    raise RuntimeError(outcome.message)
                timing: Timing = codec.decode(gpu.Timing, body.get("timing"), (), "timing")
                return timing
        except (WorkerFailed, ProtocolError, JobEnded) as error:
            raise RuntimeError(str(error) or "The kernel did not finish in time.") from error
        finally:
            shared.close()

    def _launches(
        self, kernel: KernelSource, launches: Sequence[Launch], spec: dict[str, Any], wall: float
    ) -> Iterator[RunResult]:
        from checker.judge.runner import RunResult
        from checker.sandbox.tensors import Shared

        if not launches:
            return
        waiting: list[Shared] = []
        spec |= {"count": len(launches), "bytes": 2 * _AHEAD * max(_bytes(launch) for launch in launches)}
        try:
            with self._job(spec, kernel) as job:
                for number in range(len(launches)):
                    for launch in launches[number + len(waiting) : number + _AHEAD]:
                        waiting.append(Shared(launch))
                        job.send({"launch": waiting[-1].body()}, (waiting[-1].fd,))
                    result = self._run_result(job, number, waiting[0], time.monotonic() + wall, spec["seconds"])
                    waiting.pop(0).close()
                    if result.status != "passed":
                        job.close()
                    yield result
                    if result.status != "passed":
                        return
        except WorkerFailed as error:
            yield RunResult("infra_error", message=str(error))
        finally:
            for shared in waiting:
                shared.close()

    def _run_result(self, job: Job, number: int, shared: Shared, deadline: float, seconds: float) -> RunResult:
        from checker.judge.runner import RunResult
        from checker.sandbox import codec

        too_long = f"The kernel did not finish within {seconds:g} s."
        try:
            frame = job.receive(deadline)
            body = _numbered(frame, number, {"outcome", "trace"})
            outcome = codec.decode(_outcome_type(), body["outcome"], (), "outcome")
            trace = _trace(body["trace"], frame.blobs)
        except ProtocolError as error:
            return RunResult(
                "protocol_error", message=f"The kernel's process sent something that is no result: {error}."
            )
        except JobEnded as ended:
            ending = ended.ending
            message = too_long if ending.status == "timeout" else ending.message
            return RunResult(ending.status, message=message, detail=ending.printed[-_LONGEST:])  # type: ignore[arg-type]
        return RunResult(
            outcome.status,
            tensors=shared.results() if outcome.status == "passed" else {},
            trace=trace,
            message=too_long if outcome.status == "timeout" else outcome.message[:_LONGEST],
            detail=outcome.detail[:_LONGEST],
            line=outcome.line,
            seconds=outcome.seconds,
        )

    # ---------------------------------------------------------------------------------------------------------- parts

    def _job(self, spec: dict[str, Any], kernel: KernelSource | None) -> Job:
        if kernel is not None:
            spec = spec | {"kernel": asdict(kernel)}
        return Job(self._worker, spec | {"limits": asdict(self.limits)}, self.limits.start)

    def _ready(self) -> Ready:
        return self._worker.wait_ready()


def _outcome_type() -> type:
    from checker.sandbox.jobs import Outcome

    return Outcome


def _trace(data: Any, blobs: Sequence[bytes]) -> Trace | None:
    import numpy as np

    from checker.sandbox import codec
    from checker.simulator import trace_from_parts

    if data is None:
        return None
    if not isinstance(data, dict) or data.keys() != {"head", "arrays"}:
        raise ProtocolError("the trace is not one")
    arrays = codec.decode(list[np.ndarray], data["arrays"], blobs, "trace")
    try:
        return trace_from_parts(data["head"], arrays)
    except (ValueError, TypeError, RecursionError) as error:
        raise ProtocolError(f"the trace is not one: {error}") from error


def _numbered(frame: Frame, number: int, fields: set[str]) -> dict[str, Any]:
    """The body of the result that is due: that number, these fields and no others. Raises ProtocolError."""
    body = frame.body
    if body.get("type") != "result" or body.keys() != {"type", "number"} | fields:
        raise ProtocolError("the frame is not a result")
    if type(body["number"]) is not int or body["number"] != number:
        raise ProtocolError("the result is not the one that is due")
    return body


def _bytes(launch: Launch) -> int:
    import torch

    return sum(v.untyped_storage().nbytes() for v in launch.arguments.values() if isinstance(v, torch.Tensor))


def _compile_key(kernel: KernelSource, request: CompileRequest) -> str:
    parts = [kernel.kernel, kernel.source, request.capability, dict(request.signature), dict(request.constexprs)]
    return json.dumps([*parts, dict(request.options)])


def _compile_failed(request: CompileRequest, status: str, message: str, raw: str = "") -> CompileResult:
    from checker.compiler import CompileResult

    return CompileResult(request, ok=False, kind="other", message=message, raw=raw, status=status)


_shared: Sandbox | None = None
_shared_lock = threading.Lock()
_OPEN: weakref.WeakSet[Sandbox] = weakref.WeakSet()


def _each_open(action: Callable[[WorkerProcess], None]) -> None:
    for sandbox in list(_OPEN):
        action(sandbox._worker)


def _after_fork() -> None:
    global _shared_lock
    _shared_lock = threading.Lock()
    _each_open(WorkerProcess.after_fork)


atexit.register(_each_open, WorkerProcess.close)
os.register_at_fork(after_in_child=_after_fork)
