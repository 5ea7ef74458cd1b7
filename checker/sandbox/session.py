"""`Session`: the compilations, simulations and launches of one verdict, which share jobs."""

from __future__ import annotations

import contextlib
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from itertools import islice

import torch

from checker import gpu
from checker.compiler import CompileRequest, CompileResult
from checker.judge.runner import RunResult
from checker.puzzle import Launch
from checker.sandbox.compilations import Compilations
from checker.sandbox.jobs import Job, JobEnded, Jobs, Lent, Worker, WorkerFailed
from checker.sandbox.limits import PATIENCE, Limits
from checker.sandbox.protocol import SMALL, ProtocolError, Task
from checker.sandbox.shared_memory import SharedLaunches
from checker.sandbox.tasks import LaunchArguments, LaunchReport, longest_trace, trace_from_bytes
from checker.simulator.trace import SimulateOptions
from checker.submission.kernel import KernelSource

_AHEAD = 2  # messages with launches sent before the first result is read, so that judging and running overlap
_TOGETHER = 128  # launches in one message that may run side by side
_WORTH_A_JOB = 170.0  # as `_work` counts: about 100 ms of simulation
_FIRST_TURN = 20.0  # of a loop: how much longer it takes than each of the next, because operations are recorded
_MOST_JOBS = 2  # for one simulation: each costs 60 ms
_GRACE = 2.0
_ROOM = 256 << 20  # bytes for the tensors of a simulation, at least, because the next one may be larger


class Session(Jobs):
    """Runs one verdict's kernels; implements `checker.judge.runner.Runner`. Use as a context manager.

    Leaving a generator early, or interrupting it, ends its work. What is compiled reaches this session's launches, and no others:
    Triton trusts whatever lies in its cache, and jobs write it.
    """

    def __init__(
        self, worker: Worker, limits: Limits, compiled: dict[bytes, CompileResult], cache: str, width: int
    ) -> None:
        super().__init__(worker, limits, cache, width)
        self._compiled = compiled

    def compile(
        self, kernel: KernelSource, requests: Sequence[CompileRequest], *, aside: bool = False
    ) -> Iterator[CompileResult]:
        """One result per request, in order, whatever becomes of the others. Work begins at once, spread over the processors.

        Where jobs are few, work `aside` begins with the first result that is asked for.
        """
        start = partial(Compilations, self, self._compiled, kernel, requests)
        if aside and self._worker.most_jobs is not None:
            return _when_asked(partial(start, False))
        return start(aside)

    def simulate(
        self, kernel: KernelSource, launches: Sequence[Launch], options: SimulateOptions | None = None
    ) -> Iterator[RunResult]:
        """Each launch in the CPU simulator, with its trace. Launches that may run together are split over two processors by shape."""
        options = options or SimulateOptions()
        shares = _shares(launches, min(self.width, _MOST_JOBS)) if options.together else []
        if len(shares) < 2:
            yield from self._simulate(kernel, launches, options)
            return
        with contextlib.suppress(WorkerFailed):  # here, where it can be interrupted; the jobs report a failure
            self._worker.wait_ready()
        with ThreadPoolExecutor(len(shares)) as pool, Lent(self) as lent:
            runs = [self._simulate(kernel, [launches[i] for i in share], options, lent) for share in shares]
            arriving = [_when_done(pool.submit(list, results)) for results in runs]
            share_of = {i: n for n, share in enumerate(shares) for i in share}
            for i in range(len(launches)):
                result = next(arriving[share_of[i]], None)
                if result is None:
                    return
                yield result
                if result.status != "passed":
                    return

    def _simulate(
        self, kernel: KernelSource, launches: Sequence[Launch], options: SimulateOptions, lent: Lent | None = None
    ) -> Iterator[RunResult]:
        """In one job."""
        task, seconds, done = Task("simulate", kernel, self.limits.simulate), self.limits.simulate, 0
        memory = max(2 * _AHEAD * max((_bytes(launch) for launch in launches), default=0), _ROOM)
        lend = partial((lent or self).lend, task, memory)
        if options.together:
            batches = _batches(launches, memory // (2 * _AHEAD))
            try:
                for result in self._run(lend, batches, seconds, 3 * PATIENCE * seconds, options):
                    done += 1
                    yield result
                return
            except JobEnded:  # perhaps because they ran together: run the rest one by one
                options = replace(options, together=False)
        rest = ([launch] for launch in launches[done:])
        yield from self._run(lend, rest, seconds, PATIENCE * seconds, options)

    def launch(self, kernel: KernelSource, launches: Iterable[Launch], ahead: int = _AHEAD) -> Iterator[RunResult]:
        """Each launch on the GPU, in one process that ends with this call; ``infra_error`` without a GPU.

        `launches` may be a generator: the next launch is taken from it while the GPU works, or with `ahead` = 1 only when its
        result is requested.
        """
        self.hand_over()
        return self._on_gpu(Task("launch", kernel, self.limits.launch), launches, ahead, _GRACE)

    def time(self, kernel: KernelSource, launches: Iterable[Launch]) -> Iterator[gpu.Timing]:
        """How long each launch takes on the GPU, with nothing else running. Raises RuntimeError at the first that cannot be timed."""
        for result in self._on_gpu(Task("time", kernel), launches, ahead=1, grace=0.0):
            if result.timing is None:
                raise RuntimeError(result.message or "The kernel was not timed.")
            yield result.timing

    def call(self, source: KernelSource, calls: Sequence[Launch], *, on_gpu: bool) -> Iterator[RunResult]:
        """Each call of the source's function in one process, up to the first that fails. It changes tensors, so all of them come back."""
        if on_gpu:
            return self._on_gpu(Task("call_on_gpu", source, self.limits.launch), calls, 1, _GRACE)
        seconds = self.limits.simulate
        lend = partial(self.lend, Task("call", source, seconds), max(2 * _AHEAD * max(map(_bytes, calls)), _ROOM))
        return self._run(lend, ([one] for one in calls), seconds, PATIENCE * seconds)

    def _on_gpu(self, task: Task, launches: Iterable[Launch], ahead: int, grace: float) -> Iterator[RunResult]:
        if not gpu.available():
            return iter([RunResult("infra_error", message="There is no GPU here that PyTorch can use.")])
        seconds, timed = self.limits.launch, task.work == "time"
        return self._run(
            partial(self.start, task), ([one] for one in launches), seconds, seconds + grace, ahead=ahead, timed=timed
        )

    def _run(
        self,
        lend: Callable[[], AbstractContextManager[Job]],
        batches: Iterable[Sequence[Launch]],
        seconds: float,
        wall: float,
        options: SimulateOptions | None = None,
        *,
        ahead: int = _AHEAD,
        timed: bool = False,
    ) -> Iterator[RunResult]:
        """The result of each launch, up to the first that does not pass. `seconds` is a launch's limit, `wall` ours on the clock.

        `ahead` batches are sent before the first answer is read. Raises JobEnded if a job ends over launches that run together.
        """
        folder = self._worker.files
        shared = (SharedLaunches(batch, options or SimulateOptions(), folder) for batch in batches)
        waiting = deque(islice(shared, 1))
        try:
            if not waiting:
                return
            with lend() as job:
                _send(job, waiting[0])
                while True:
                    for batch in islice(shared, ahead - len(waiting)):
                        waiting.append(batch)
                        _send(job, batch)
                    if not waiting:
                        return
                    for launch in waiting[0].message.launches:
                        result = _result(job, waiting[0], launch, seconds, wall, timed)
                        job.answered += 1
                        if result.status != "passed":
                            job.close()
                            yield result
                            return
                        if launch is waiting[0].message.launches[-1]:
                            waiting.popleft().close()
                        yield result
        except WorkerFailed as error:
            yield RunResult("infra_error", message=str(error))
        finally:
            for batch in waiting:
                batch.close()


def _send(job: Job, batch: SharedLaunches) -> None:
    job.send(batch.message, len(batch.message.launches), batch.fds)


def _result(
    job: Job, batch: SharedLaunches, launch: LaunchArguments, seconds: float, wall: float, timed: bool
) -> RunResult:
    """The result of the launch that is due, checked against what the job cannot make up."""
    most = longest_trace(launch)
    try:
        report = job.receive(LaunchReport, time.monotonic() + wall, SMALL + most)
        if report.number != job.answered:
            raise ProtocolError("its number is not the expected one")
        trace = None if report.trace is None else trace_from_bytes(report.trace, most)
        tensors = {} if timed or report.status != "passed" else batch.results(launch)
        if tensors and job.spec.task.work == "simulate":
            batch.verify(launch, trace, tensors)
    except ProtocolError as error:
        return RunResult("protocol_error", message=f"The kernel's process sent something that is no result: {error}.")
    except JobEnded as ended:
        if batch.message.simulate.together and ended.status != "timeout":
            raise
        message = _too_long(seconds) if ended.status == "timeout" else ended.message
        return RunResult(ended.status, message=message, detail=ended.printed)  # type: ignore[arg-type]
    return RunResult(
        report.status,
        tensors=tensors,
        trace=trace,
        message=report.message or (_too_long(seconds) if report.status == "timeout" else ""),
        detail=report.detail,
        line=report.line,
        seconds=report.seconds,
        timing=report.timing if timed else None,
        called=report.called,
    )


def _too_long(seconds: float) -> str:
    return f"The kernel did not finish within {seconds:g} s."


def _shares(launches: Sequence[Launch], most: int) -> list[list[int]]:
    """Launches by number in shares of similar work, none if it is little. Those with the same constants and types stay together."""
    shapes: dict[str, list[int]] = {}
    for number, launch in enumerate(launches):
        dtypes = [value.dtype for value in launch.arguments.values() if isinstance(value, torch.Tensor)]
        shapes.setdefault(repr((sorted(launch.meta.items()), dtypes)), []).append(number)
    work = {shape: max(_work(launches[i]) for i in numbers) for shape, numbers in shapes.items()}
    count = min(most, len(shapes), int(sum(work.values()) / _WORTH_A_JOB))
    shares: list[list[int]] = [[] for _ in range(count)]
    loads = [0.0] * count
    for shape in sorted(shapes, key=lambda shape: work[shape], reverse=True) if count else ():
        least = loads.index(min(loads))
        shares[least] += shapes[shape]
        loads[least] += work[shape]
    return [sorted(share) for share in shares]


def _work(launch: Launch) -> float:
    """How many turns of a loop follow each other: the longest side in tiles, as far as no programs share it."""
    sides = [side for value in launch.arguments.values() if isinstance(value, torch.Tensor) for side in value.shape]
    tiles = [value for value in launch.meta.values() if type(value) is int and value > 0]
    return _FIRST_TURN + max(sides, default=1) / max(tiles, default=1) / max(math.prod(launch.grid), 1)


def _when_asked(begin: Callable[[], Iterator[CompileResult]]) -> Iterator[CompileResult]:
    yield from begin()


def _when_done(results: Future[list[RunResult]]) -> Iterator[RunResult]:
    yield from results.result()


def _batches(launches: Sequence[Launch], most: int) -> Iterator[list[Launch]]:
    """In order, at most `_TOGETHER` launches and about `most` bytes each."""
    batch: list[Launch] = []
    size = 0
    for launch in launches:
        if batch and (len(batch) == _TOGETHER or size + _bytes(launch) > most):
            yield batch
            batch, size = [], 0
        batch.append(launch)
        size += _bytes(launch)
    if batch:
        yield batch


def _bytes(launch: Launch) -> int:
    return sum(v.untyped_storage().nbytes() for v in launch.arguments.values() if isinstance(v, torch.Tensor))
