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
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import count, islice
from typing import TYPE_CHECKING, Any, TypeVar

from checker.sandbox.answers import run_result, timing
from checker.sandbox.isolation import LAYERS
from checker.sandbox.job import Job, JobEnded
from checker.sandbox.lanes import Lanes, failed
from checker.sandbox.limits import PATIENCE, Limits
from checker.sandbox.process import INSIDE, Ready, WorkerFailed, WorkerProcess
from checker.sandbox.wire import ProtocolError

if TYPE_CHECKING:
    from checker.compiler import CompileRequest, CompileResult
    from checker.gpu import Timing
    from checker.judge.runner import RunResult
    from checker.puzzle import Launch
    from checker.sandbox.tensors import Shared
    from checker.simulator.trace import SimulateOptions
    from checker.submission.kernel import KernelSource

_Answer = TypeVar("_Answer")
_AHEAD = 2  # launches handed over before the first result is read, so that judging and running overlap
_REMEMBERED = 512
_GRACE = 2.0
_GPU_JOB = 3600  # processor seconds of all launches of a job; each has its own limit by the clock


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
        """One result per request, in order, whatever became of the others. Work is spread over the processors.

        What a request gives does not depend on anything but kernel and request, so it is remembered.
        """
        keys = [_compile_key(kernel, request) for request in requests]
        known = {n: self._compiled[key] for n, key in enumerate(keys) if key in self._compiled}
        missing = [n for n in range(len(keys)) if n not in known]
        try:
            width, seconds = os.cpu_count() or 1, self.limits.compile
            with Lanes(lambda some: self._compile_job(kernel, some), requests, missing, width, seconds) as lanes:
                for number, key in enumerate(keys):
                    result = known[number] if number in known else lanes.result(number)
                    if result.status in ("passed", "compile_error"):
                        self._remember(key, result)
                    yield result
        except WorkerFailed as error:
            yield from (failed(request, "infra_error", str(error)) for request in requests)

    def _compile_job(self, kernel: KernelSource, requests: list[CompileRequest]) -> Job:
        from checker.sandbox import codec

        spec = {
            "kind": "compile",
            "seconds": self.limits.compile,
            "cpu_seconds": (self.limits.compile + 1) * len(requests) + 30,
            "requests": [codec.encode(request, []) for request in requests],
        }
        return self._job(spec, kernel)

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
            "bytes": 2 * _AHEAD * max((_bytes(launch) for launch in launches), default=0),
        }
        return self._launches(kernel, launches, spec, wall=PATIENCE * self.limits.simulate)

    def launch(self, kernel: KernelSource, launches: Iterable[Launch]) -> Iterator[RunResult]:
        """Each launch on the GPU, in a process that ends with this call; ``infra_error`` where there is no GPU.

        `launches` may be a generator: the next one is taken from it while the GPU works.
        """
        from checker import gpu
        from checker.judge.runner import RunResult

        if not gpu.available():
            return iter([RunResult("infra_error", message="There is no GPU here that PyTorch can use.")])
        seconds = self.limits.launch
        spec = {"kind": "launch", "seconds": seconds, "cpu_seconds": _GPU_JOB}
        return self._launches(kernel, launches, spec, wall=seconds + _GRACE)

    def time(self, kernel: KernelSource, launches: Iterable[Launch]) -> Iterator[Timing]:
        """How long each launch takes on the GPU, all in one process. Raises RuntimeError with the reason at the first that cannot be timed."""

        def received(job: Job, number: int, _: Shared) -> Timing:
            return timing(job.receive(time.monotonic() + self.limits.launch), number)

        spec = {"kind": "time", "cpu_seconds": _GPU_JOB}
        try:
            yield from self._exchange(kernel, launches, spec, received, ahead=1)  # nothing else runs meanwhile
        except (WorkerFailed, ProtocolError, JobEnded) as error:
            raise RuntimeError(str(error) or "The kernel did not finish in time.") from error

    def _launches(
        self, kernel: KernelSource, launches: Iterable[Launch], spec: dict[str, Any], wall: float
    ) -> Iterator[RunResult]:
        from checker.judge.runner import RunResult

        def received(job: Job, number: int, shared: Shared) -> RunResult:
            return run_result(job, number, shared, time.monotonic() + wall, spec["seconds"])

        results = self._exchange(kernel, launches, spec, received)
        try:
            for result in results:
                if result.status != "passed":
                    results.close()
                yield result
        except WorkerFailed as error:
            yield RunResult("infra_error", message=str(error))
        finally:
            results.close()

    def _exchange(
        self,
        kernel: KernelSource,
        launches: Iterable[Launch],
        spec: dict[str, Any],
        received: Callable[[Job, int, Shared], _Answer],
        ahead: int = _AHEAD,
    ) -> Generator[_Answer, None, None]:
        """Hands launches to one job, `ahead` before the first answer, and waits with `received` for each answer in turn."""
        from checker.sandbox.tensors import Shared

        left = map(Shared, launches)
        waiting = deque(islice(left, 1))
        if not waiting:
            return
        try:
            with self._job(spec, kernel) as job:
                job.send({"launch": waiting[0].body()}, (waiting[0].fd,))
                for number in count():
                    for shared in islice(left, ahead - len(waiting)):
                        waiting.append(shared)
                        job.send({"launch": shared.body()}, (shared.fd,))
                    if not waiting:
                        return
                    answer = received(job, number, waiting[0])
                    waiting.popleft().close()
                    yield answer
        finally:
            for shared in waiting:
                shared.close()

    # ---------------------------------------------------------------------------------------------------------- parts

    def _job(self, spec: dict[str, Any], kernel: KernelSource | None) -> Job:
        if kernel is not None:
            spec = spec | {"kernel": asdict(kernel)}
        return Job(self._worker, spec | {"limits": asdict(self.limits)}, self.limits.start)

    def _ready(self) -> Ready:
        return self._worker.wait_ready()


def _bytes(launch: Launch) -> int:
    import torch

    return sum(v.untyped_storage().nbytes() for v in launch.arguments.values() if isinstance(v, torch.Tensor))


def _compile_key(kernel: KernelSource, request: CompileRequest) -> str:
    from checker.sandbox import codec

    return json.dumps([kernel.kernel, kernel.source, codec.encode(request, [])])


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
