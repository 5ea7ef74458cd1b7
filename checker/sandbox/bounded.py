"""A limit of time for everything that one verdict needs."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from checker.compiler import CompileRequest, CompileResult, not_compiled
from checker.judge.runner import Runner, RunResult, session
from checker.puzzle import Launch
from checker.simulator.trace import SimulateOptions
from checker.submission.kernel import KernelSource


@dataclass(eq=False)  # a runner is itself, whatever it holds
class Bounded:
    """A runner with `seconds` for one session: after that, or once `stopped` is set, every call ends as ``timeout``."""

    runner: Runner
    seconds: float
    stopped: threading.Event = field(default_factory=threading.Event)
    deadline: float = math.inf

    @contextlib.contextmanager
    def session(self, *, gpu: bool, hurry: bool) -> Iterator[Bounded]:
        with session(self.runner, gpu=gpu, hurry=hurry) as opened:
            yield Bounded(opened, self.seconds, self.stopped, time.monotonic() + self.seconds)

    @property
    def _over(self) -> bool:
        return self.stopped.is_set() or time.monotonic() >= self.deadline

    @property
    def _message(self) -> str:
        return f"Judging this kernel took longer than the {self.seconds:g} s that one kernel may use."

    def compile(
        self, kernel: KernelSource, requests: Sequence[CompileRequest], *, aside: bool = False
    ) -> Iterator[CompileResult]:
        results = iter(()) if self._over else self.runner.compile(kernel, requests, aside=aside)
        for request in requests:
            yield not_compiled(request, "timeout", self._message) if self._over else next(results)

    def simulate(
        self, kernel: KernelSource, launches: Sequence[Launch], options: SimulateOptions
    ) -> Iterator[RunResult]:
        return self._in_time(self.runner.simulate(kernel, launches, options))

    def launch(self, kernel: KernelSource, launches: Iterable[Launch]) -> Iterator[RunResult]:
        return self._in_time(self.runner.launch(kernel, launches))

    def call(self, source: KernelSource, calls: Sequence[Launch], *, on_gpu: bool) -> Iterator[RunResult]:
        return self._in_time(self.runner.call(source, calls, on_gpu=on_gpu))

    def _in_time(self, results: Iterator[RunResult]) -> Iterator[RunResult]:
        while not self._over:
            result = next(results, None)
            if result is None:
                return
            yield result
        yield RunResult("timeout", message=self._message)
