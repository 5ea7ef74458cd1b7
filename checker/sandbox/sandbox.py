"""`Sandbox`: compiles, simulates and launches kernels in another process, and reads what comes back with suspicion.

The module itself imports nothing heavy; torch is imported when the first launch is handed over.
"""

from __future__ import annotations

import atexit
import os
import secrets
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec

from checker.sandbox import protocol
from checker.sandbox.compile_pool import CompilePool, failed
from checker.sandbox.isolation import LAYERS, PATIENCE, Limits
from checker.sandbox.kept_jobs import KeptJobs
from checker.sandbox.protocol import JobSpec, ProtocolError
from checker.sandbox.worker_client import INSIDE, Job, JobEnded, WorkerFailed, WorkerProcess, no_result

if TYPE_CHECKING:
    from checker.compiler import CompileRequest, CompileResult
    from checker.gpu import Timing
    from checker.judge.runner import RunResult
    from checker.puzzle import Launch
    from checker.sandbox.shared_memory import SharedLaunches
    from checker.sandbox.tasks import LaunchArguments, LaunchReport, RunOnGpu, TimeOnGpu
    from checker.simulator.trace import SimulateOptions
    from checker.submission.kernel import KernelSource

_Answer = TypeVar("_Answer")
_AHEAD = 2  # messages with launches handed over before the first result is read, so that judging and running overlap
_TOGETHER = 128  # launches in a message, where they may run side by side
_WORTH_A_JOB = 4  # shapes of launches: about 100 ms of simulation
_MOST_JOBS = 2  # for one simulation: each costs 60 ms
_REMEMBERED = 512
_GRACE = 2.0
_ROOM = 256 << 20  # bytes for the tensors of a simulation, at least: the next may be larger
_LONG = (
    3600  # processor seconds of a job that is asked for more and more; each launch and compilation has its own limit
)


class Sandbox:
    """Runs learners' kernels; implements `checker.judge.runner.Runner`.

    Starting is cheap: the worker warms up by itself and is waited for by the first job. Jobs may be asked for from several
    threads at once. Where a generator is left early (or interrupted), its job ends there and then.
    """

    def __init__(self, limits: Limits | None = None, *, layers: Collection[str] = LAYERS) -> None:
        """`layers` are those that may be used (all that hold on this machine are); fewer are for tests and for debugging."""
        self.limits = limits or Limits()
        self._worker = WorkerProcess(self.limits.start, layers)
        self._compiled: OrderedDict[bytes, CompileResult] = OrderedDict()
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
        return "+".join((*self._worker.wait_ready().layers, "rlimits"))

    @property
    def gaps(self) -> tuple[str, ...]:
        """What a trial job was able to do although it should not (names of `self_test.GAPS`); empty where the isolation holds."""
        return self._worker.wait_ready().gaps

    @property
    def lost(self) -> tuple[str, ...]:
        """Why layers that this machine seems to offer are not in force, a reason each."""
        return self._worker.wait_ready().lost

    def ping(self) -> float:
        """Seconds that a job takes which does nothing."""
        from checker.sandbox.tasks import Ping

        began = time.perf_counter()
        with self._job(protocol.encode(Ping()), cpu_seconds=10):
            pass
        return time.perf_counter() - began

    def session(self, *, gpu: bool = False, hurry: bool = True) -> Session:
        """A runner for one verdict, whose calls share jobs; with `gpu`, what is compiled is handed to the launch.

        In a `hurry` each call is spread over the processors: further jobs have to start, so it is done sooner and costs more.
        """
        return Session(self, KeptJobs(secrets.token_hex(8) if gpu else "", _processors() if hurry else 1))

    # ------------------------------------------------------------------------------------------------------- compile

    def compile(
        self,
        kernel: KernelSource,
        requests: Sequence[CompileRequest],
        kept: KeptJobs | None = None,
        *,
        aside: bool = False,
    ) -> Iterator[CompileResult]:
        """One result per request, in order, whatever became of the others. Work is spread over the processors, and begins at once.

        What a request gives does not depend on anything but kernel and request, so it is remembered, unless a launch waits for
        what is compiled. Jobs come from `kept` and go back there.
        """
        results = self._compile(kernel, requests, kept, aside)
        next(results)
        return cast("Iterator[CompileResult]", results)

    def _compile(
        self, kernel: KernelSource, requests: Sequence[CompileRequest], kept: KeptJobs | None, aside: bool
    ) -> Iterator[CompileResult | None]:
        """None once the jobs are at work, then the results."""
        from checker.sandbox.tasks import Compile

        task, cache = protocol.encode(Compile(kernel, self.limits.compile)), kept.cache if kept else ""
        start = lambda: self._job(task, cpu_seconds=_LONG, may_start_programs=True, cache=cache)  # noqa: E731
        keys = [_compile_key(kernel, request) for request in requests]
        known = {n: self._compiled[key] for n, key in enumerate(keys) if key in self._compiled and not cache}
        missing = [n for n in range(len(keys)) if n not in known]
        try:
            width, seconds = kept.most if kept else _processors(), self.limits.compile
            take = lambda: kept.take(task, 0, start) if kept else start()  # noqa: E731
            give = lambda job: kept.give(task, job) if kept else job.close()  # noqa: E731
            with CompilePool(take, give, requests, missing, width, seconds, aside) as pool:
                yield None
                for number, key in enumerate(keys):
                    result = known[number] if number in known else pool.result(number)
                    if result.status in ("passed", "compile_error"):
                        self._remember(key, result)
                    yield result
        except WorkerFailed as error:
            yield None
            yield from (failed(request, "infra_error", str(error)) for request in requests)

    def _remember(self, key: bytes, result: CompileResult) -> None:
        with self._lock:
            self._compiled[key] = result
            self._compiled.move_to_end(key)
            while len(self._compiled) > _REMEMBERED:
                self._compiled.popitem(last=False)

    # ----------------------------------------------------------------------------------------------- simulate, launch

    def simulate(
        self,
        kernel: KernelSource,
        launches: Sequence[Launch],
        options: SimulateOptions | None = None,
        kept: KeptJobs | None = None,
    ) -> Iterator[RunResult]:
        """Each launch in the CPU simulator, with its trace. Jobs come from `kept` and go back there.

        Launches that may run together are shared out over two processors, those of one shape in one share.
        """
        from checker.simulator.trace import SimulateOptions

        asked = options or SimulateOptions()
        most = min(kept.most if kept else _processors(), _MOST_JOBS)
        shares = _shares(launches, most) if asked.together else []
        if len(shares) < 2:
            yield from self._simulate(kernel, launches, asked, kept)
            return
        with ThreadPoolExecutor(len(shares)) as pool:
            of_share = [self._simulate(kernel, [launches[i] for i in share], asked, kept) for share in shares]
            arriving = [_when_done(pool.submit(list, results)) for results in of_share]
            share_of = {i: n for n, share in enumerate(shares) for i in share}
            for i in range(len(launches)):
                result = next(arriving[share_of[i]], None)
                if result is None:
                    return
                yield result
                if result.status != "passed":
                    return

    def _simulate(
        self, kernel: KernelSource, launches: Sequence[Launch], asked: SimulateOptions, kept: KeptJobs | None
    ) -> Iterator[RunResult]:
        """In one job."""
        from checker.sandbox.tasks import Simulate

        task = protocol.encode(Simulate(kernel, self.limits.simulate))
        memory = max(2 * _AHEAD * max((_bytes(launch) for launch in launches), default=0), _ROOM)
        start = lambda: self._job(task, cpu_seconds=_LONG, memory=memory)  # noqa: E731
        lend = (lambda: kept.lend(task, memory, start)) if kept else start
        seconds, done = self.limits.simulate, 0
        if asked.together:
            batches = _batches(launches, memory // (2 * _AHEAD))
            try:
                for result in self._run(lend, batches, seconds, wall=3 * PATIENCE * seconds, options=asked):
                    done += 1
                    yield result
                return
            except JobEnded:  # perhaps of running them together: those that are left by themselves
                asked = replace(asked, together=False)
        left = ([launch] for launch in launches[done:])
        yield from self._run(lend, left, seconds, wall=PATIENCE * seconds, options=asked)

    def launch(
        self, kernel: KernelSource, launches: Iterable[Launch], kept: KeptJobs | None = None, ahead: int = _AHEAD
    ) -> Iterator[RunResult]:
        """Each launch on the GPU, in a process that ends with this call; ``infra_error`` where there is no GPU.

        What jobs of `kept` compiled is at hand there.

        `launches` may be a generator: the next one is taken from it while the GPU works, or with `ahead` = 1 only when it is asked for.
        """
        from checker import gpu
        from checker.judge.runner import RunResult
        from checker.sandbox.tasks import RunOnGpu

        if not gpu.available():
            return iter([RunResult("infra_error", message="There is no GPU here that PyTorch can use.")])
        if kept:
            kept.hand_over()
        cache = kept.cache if kept else ""
        start = lambda: self._gpu_job(RunOnGpu(kernel, self.limits.launch), cache)  # noqa: E731
        each = ([launch] for launch in launches)
        return self._run(start, each, self.limits.launch, wall=self.limits.launch + _GRACE, ahead=ahead)

    def time(self, kernel: KernelSource, launches: Iterable[Launch]) -> Iterator[Timing]:
        """How long each launch takes on the GPU, all in one process. Raises RuntimeError with the reason at the first that cannot be timed."""
        from checker.sandbox.tasks import TimeOnGpu

        def received(job: Job, number: int, _: SharedLaunches, __: LaunchArguments) -> Timing:
            report = _report(job, number, time.monotonic() + self.limits.launch)
            if report.timing is None:
                raise RuntimeError(report.message or "The kernel was not timed.")
            return report.timing

        task = TimeOnGpu(kernel)
        try:  # nothing else runs meanwhile
            each = ([launch] for launch in launches)
            yield from self._exchange(lambda: self._gpu_job(task), each, received, ahead=1)
        except (WorkerFailed, ProtocolError, JobEnded) as error:
            raise RuntimeError(str(error) or "The kernel did not finish in time.") from error

    def _run(
        self,
        start: Callable[[], AbstractContextManager[Job]],
        batches: Iterable[Sequence[Launch]],
        seconds: float,
        wall: float,
        options: SimulateOptions | None = None,
        ahead: int = _AHEAD,
    ) -> Iterator[RunResult]:
        """The result of each launch, up to the first that is not passed: `seconds` are its limit, `wall` ours by the clock.

        Raises JobEnded where the job ended by itself before it told of a launch that may run together with others.
        """
        from checker.judge.runner import RunResult

        def received(job: Job, number: int, shared: SharedLaunches, launch: LaunchArguments) -> RunResult:
            try:
                return _run_result(job, number, shared, launch, time.monotonic() + wall, seconds)
            except JobEnded as ended:
                if shared.message.simulate.together and ended.status != "timeout":
                    raise
                message = _too_long(seconds) if ended.status == "timeout" else ended.message
                return RunResult(ended.status, message=message, detail=ended.printed)  # type: ignore[arg-type]

        results = self._exchange(start, batches, received, ahead, options)
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
        start: Callable[[], AbstractContextManager[Job]],
        batches: Iterable[Sequence[Launch]],
        received: Callable[[Job, int, SharedLaunches, LaunchArguments], _Answer],
        ahead: int = _AHEAD,
        options: SimulateOptions | None = None,
    ) -> Generator[_Answer, None, None]:
        """Hands launches to one job, `ahead` batches before the first answer, and waits with `received` for each answer in turn."""
        from checker.sandbox.shared_memory import SharedLaunches
        from checker.simulator.trace import SimulateOptions

        asked = options or SimulateOptions()
        left = (SharedLaunches(batch, asked) for batch in batches)
        waiting = deque(islice(left, 1))
        if not waiting:
            return
        try:
            with start() as job:
                self._ask(job, waiting[0])
                while True:
                    for shared in islice(left, ahead - len(waiting)):
                        waiting.append(shared)
                        self._ask(job, shared)
                    if not waiting:
                        return
                    shared = waiting[0]
                    for launch in shared.message.launches:
                        answer = received(job, job.answered, shared, launch)
                        job.answered += 1
                        if launch is shared.message.launches[-1]:
                            waiting.popleft().close()
                        yield answer
        finally:
            for shared in waiting:
                shared.close()

    def _ask(self, job: Job, shared: SharedLaunches) -> None:
        job.asked += len(shared.message.launches)
        job.send(shared.message, (shared.fd,))

    # ----------------------------------------------------------------------------------------------------------- jobs

    def _gpu_job(self, task: RunOnGpu | TimeOnGpu, cache: str = "") -> Job:
        return self._job(protocol.encode(task), cpu_seconds=_LONG, gpu=True, may_start_programs=True, cache=cache)

    def _job(
        self,
        task: bytes,
        *,
        cpu_seconds: float,
        memory: int = 0,
        gpu: bool = False,
        may_start_programs: bool = False,
        cache: str = "",
    ) -> Job:
        spec = JobSpec(msgspec.Raw(task), self.limits, cpu_seconds, memory, gpu, may_start_programs, cache)
        return Job(self._worker, spec, self.limits.start)


class Session:
    """A sandbox's runner for one verdict: jobs of one kernel wait for the next call, until the session is left.

    What is compiled goes to the launch of the same session and no further: Triton trusts whatever lies in its cache, and jobs
    write it.
    """

    def __init__(self, sandbox: Sandbox, jobs: KeptJobs) -> None:
        self._sandbox, self._jobs = sandbox, jobs

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._jobs.__exit__()
        if self._jobs.cache:
            self._sandbox._worker.forget(self._jobs.cache)

    def compile(
        self, kernel: KernelSource, requests: Sequence[CompileRequest], *, aside: bool = False
    ) -> Iterator[CompileResult]:
        return self._sandbox.compile(kernel, requests, self._jobs, aside=aside)

    def simulate(
        self, kernel: KernelSource, launches: Sequence[Launch], options: SimulateOptions | None = None
    ) -> Iterator[RunResult]:
        return self._sandbox.simulate(kernel, launches, options, self._jobs)

    def launch(self, kernel: KernelSource, launches: Iterable[Launch]) -> Iterator[RunResult]:
        return self._sandbox.launch(kernel, launches, self._jobs)


def _report(job: Job, number: int, deadline: float, longest_trace: int = 0) -> LaunchReport:
    """What the job says about launch `number`. Raises JobEnded and ProtocolError."""
    from checker.sandbox.tasks import LaunchReport

    report = job.receive(LaunchReport, deadline, protocol.SMALL + longest_trace)
    if report.number != number:
        raise ProtocolError("the result is not the one that is due")
    return report


def _run_result(
    job: Job, number: int, shared: SharedLaunches, launch: LaunchArguments, deadline: float, seconds: float
) -> RunResult:
    """What became of launch `number`: waits until `deadline` (by `time.monotonic`). Raises JobEnded."""
    from checker.judge.runner import RunResult
    from checker.sandbox import plausible
    from checker.sandbox.tasks import longest_trace, trace_from_bytes

    try:
        most = longest_trace(launch)
        report = _report(job, number, deadline, most)
        trace = None if report.trace is None else trace_from_bytes(report.trace, most)
        tensors = shared.results(launch) if report.status == "passed" else {}
        if report.status == "passed" and not job.spec.gpu:
            plausible.verify(trace, shared.original(launch), tensors)
        if report.status != "passed":
            job.close()
    except ProtocolError as error:
        job.close()
        return RunResult("protocol_error", message=no_result(error))
    return RunResult(
        report.status,
        tensors=tensors,
        trace=trace,
        message=_too_long(seconds) if report.status == "timeout" else report.message,
        detail=report.detail,
        line=report.line,
        seconds=report.seconds,
    )


def _too_long(seconds: float) -> str:
    return f"The kernel did not finish within {seconds:g} s."


def _processors() -> int:
    return os.cpu_count() or 1


def _shares(launches: Sequence[Launch], most: int) -> list[list[int]]:
    """The numbers of the launches in at most `most` shares of like cost: launches with the same constants and types stay together."""
    import torch

    shapes: dict[str, list[int]] = {}
    for number, launch in enumerate(launches):
        dtypes = [value.dtype for value in launch.arguments.values() if isinstance(value, torch.Tensor)]
        shapes.setdefault(repr((sorted(launch.meta.items()), dtypes)), []).append(number)
    count = min(most, len(shapes) // _WORTH_A_JOB)
    shares: list[list[int]] = [[] for _ in range(count)]
    costs = [0] * count
    for cost, numbers in sorted(((_cost([launches[i] for i in n]), n) for n in shapes.values()), reverse=True):
        if shares:
            cheapest = costs.index(min(costs))
            shares[cheapest] += numbers
            costs[cheapest] += cost
    return [sorted(share) for share in shares]


def _cost(launches: Sequence[Launch]) -> int:
    """About the milliseconds that simulating launches of one shape together takes, fitted over six puzzles."""
    return 13 + 8 * len(launches) + 15 * sum(map(_bytes, launches)) // 2**20


def _when_done(results: Future[list[_Answer]]) -> Iterator[_Answer]:
    """What a thread gathers, waited for when it is asked for."""
    yield from results.result()


def _batches(launches: Sequence[Launch], most: int) -> Iterator[list[Launch]]:
    """In order, each of `_TOGETHER` launches at most, and of about `most` bytes."""
    batch: list[Launch] = []
    size = 0
    for launch in launches:
        own = _bytes(launch)
        if batch and (len(batch) == _TOGETHER or size + own > most):
            yield batch
            batch, size = [], 0
        batch.append(launch)
        size += own
    if batch:
        yield batch


def _bytes(launch: Launch) -> int:
    import torch

    return sum(v.untyped_storage().nbytes() for v in launch.arguments.values() if isinstance(v, torch.Tensor))


def _compile_key(kernel: KernelSource, request: CompileRequest) -> bytes:
    return protocol.encode((kernel.kernel, kernel.source, request))


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
