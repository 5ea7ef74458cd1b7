"""A limit of time for everything that one verdict needs."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from checker.compiler import CompileRequest, CompileResult, not_compiled
from checker.judge.runner import Runner, RunResult, session
from checker.puzzle import Launch
from checker.simulator.trace import SimulateOptions
from checker.submission.kernel import KernelSource


@dataclass
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
        done = 0
        if not self._over:
            for result in self.runner.compile(kernel, requests, aside=aside):
                yield result
                done += 1
                if self._over:
                    break
        yield from (not_compiled(request, "timeout", self._message) for request in requests[done:])

    def simulate(
        self, kernel: KernelSource, launches: Sequence[Launch], options: SimulateOptions
    ) -> Iterator[RunResult]:
        return self._until_the_end(len(launches), lambda: self.runner.simulate(kernel, launches, options))

    def launch(self, kernel: KernelSource, launches: Iterable[Launch]) -> Iterator[RunResult]:
        return self._until_the_end(1, lambda: self.runner.launch(kernel, launches))

    def _until_the_end(self, count: int, start: Callable[[], Iterator[RunResult]]) -> Iterator[RunResult]:
        if self._over and count:
            yield RunResult("timeout", message=self._message)
            return
        for result in start():
            yield result
            if self._over:
                yield RunResult("timeout", message=self._message)
                return
