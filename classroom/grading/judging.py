"""`judge`: makes the verdicts that are missing. Each is stored as soon as it is made."""

from __future__ import annotations

import contextlib
import math
import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from checker.compiler import CompileRequest, CompileResult
from checker.judge.launches import seed_from
from checker.judge.runner import Runner, RunResult, session
from checker.puzzle import Launch, Puzzle
from checker.simulator.trace import SimulateOptions
from checker.submission.kernel import KernelSource
from checker.verbs.grade import RETRIES, retried
from classroom.grading.facts import facts_of, plain
from classroom.grading.keys import Setting, key_of, normalised
from classroom.grading.records import Collected, Fault, Kernel, Run, VerdictRecord
from classroom.grading.store import RunFolder

MOST_TRIES = 20
"""How many different kernels of a learner are judged for a puzzle: the last ones."""


@dataclass(frozen=True)
class Task:
    """One verdict to make. `learners` are those whose kernel it is."""

    key: str
    puzzle: Puzzle
    source: KernelSource
    learners: tuple[str, ...] = ()


@dataclass
class Judged:
    """The outcome of a run of `judge`."""

    stored: int = 0
    faults: list[Fault] = field(default_factory=list)
    interrupted: bool = False


def tasks(collected: Collected, folder: RunFolder, puzzles: Sequence[Puzzle], setting: Setting) -> list[Task]:
    """Every different kernel of the class, in the order of the roster."""
    asked = {puzzle.name: puzzle for puzzle in puzzles}
    owners: dict[str, list[str]] = {}  # learners, by the name of a kernel
    for learner in collected.learners:
        for source in dict.fromkeys(k.source for k in tried(learner.kernels) if k.source and k.puzzle in asked):
            owners.setdefault(source, []).append(learner.person.id)
    found: dict[str, Task] = {}
    for source, learners in owners.items():
        kernel = normalised(folder.kernel(source))
        puzzle = asked[kernel.puzzle]
        key = key_of(puzzle, kernel, setting)
        known = found[key].learners if key in found else ()
        found[key] = Task(key, puzzle, kernel, tuple(dict.fromkeys((*known, *learners))))
    return list(found.values())


def tried(kernels: Sequence[Kernel]) -> list[Kernel]:
    """The last `MOST_TRIES` kernels of each puzzle."""
    kept: list[Kernel] = []
    for puzzle in dict.fromkeys(kernel.puzzle for kernel in kernels):
        mine = [kernel for kernel in kernels if kernel.puzzle == puzzle]
        kept += sorted(mine, key=lambda kernel: (kernel.attempt, kernel.time or ""))[-MOST_TRIES:]
    return kept


def shard(wanted: Iterable[Task], index: int, count: int) -> list[Task]:
    """The `index`-th of `count` parts (from 1), the same on every machine."""
    return [task for task in wanted if int(task.key[:8], 16) % count == index - 1]


class Engine(Protocol):
    """Makes verdicts somewhere, in any order. Where the machine could not make a verdict, it gives a Fault."""

    def verdicts(self, wanted: Sequence[Task], setting: Setting) -> Iterator[VerdictRecord | Fault]: ...


def judge_missing(
    folder: RunFolder,
    wanted: Sequence[Task],
    setting: Setting,
    engine: Engine,
    *,
    learner_seconds: float = 0.0,
    report: Callable[[VerdictRecord | Fault], None] = lambda made: None,
) -> Judged:
    """Judge what has no verdict yet, and store each. Ctrl-C ends it; what is stored stays. Raises OSError where nothing can be stored.

    A learner whose verdicts took more than `learner_seconds` so far is left ungraded with the rest of theirs (0: no such limit). With
    such a limit kernels of one learner are judged one after another.
    """
    folder.sweep()
    judged = Judged()
    missing = set(folder.missing(task.key for task in wanted))
    spent = _Spent(learner_seconds, {task.key: task.learners for task in wanted})
    for task in wanted if learner_seconds else ():
        if verdict := folder.verdict(task.key):
            spent.add(verdict)

    def keep(made: VerdictRecord | Fault) -> None:
        if isinstance(made, Fault):
            judged.faults.append(made)
            folder.keep_fault(made)
        else:
            folder.keep_verdict(made)
            judged.stored += 1
            spent.add(made)

    try:
        for now in spent.rounds([task for task in wanted if task.key in missing]):
            for task in filter(spent.over, now):
                message = (
                    f"the kernels of this learner took more than the {learner_seconds:g} s that one learner may use"
                )
                keep(Fault(key=task.key, message=message, tried=0))
            for made in engine.verdicts([task for task in now if not spent.over(task)], setting):
                keep(made)
                report(made)
    except KeyboardInterrupt:
        judged.interrupted = True
    return judged


class _Spent:
    """Seconds that each learner's verdicts took. A kernel that several share counts for each."""

    def __init__(self, limit: float, owners: Mapping[str, Sequence[str]]) -> None:
        self.limit, self.owners = limit, owners
        self.seconds: dict[str, float] = defaultdict(float)

    def add(self, verdict: VerdictRecord) -> None:
        for learner in self.owners[verdict.key]:
            self.seconds[learner] += verdict.run.seconds

    def over(self, task: Task) -> bool:
        """Whether everyone who wants it has used up their time."""
        used = [self.seconds[learner] > self.limit for learner in task.learners]
        return self.limit > 0 and len(used) > 0 and all(used)

    def rounds(self, left: Sequence[Task]) -> Iterator[Sequence[Task]]:
        """All at once without a limit, else one kernel of each learner after another."""
        while left and self.limit:
            now, later, busy = list[Task](), list[Task](), set[str]()
            for task in left:
                (now if busy.isdisjoint(task.learners) else later).append(task)
                busy.update(task.learners)
            yield now
            left = later
        if left:
            yield left


def isolation_lacks(sandbox: Any, required: Collection[str]) -> list[str]:
    """The layers out of `required` that are not in force, and the gaps in those that are. Empty where none is required.

    `sandbox` is a `checker.sandbox.Sandbox`.
    """
    return [*sorted({*required} - {*sandbox.tier.split("+")}), *sandbox.gaps] if required else []


# ------------------------------------------------------------------------------------------------------- one at a time


def verdict_record(
    task: Task,
    setting: Setting,
    secret: bytes | None,
    runner: Runner,
    stopped: threading.Event | None = None,
    *,
    hurry: bool = False,
) -> VerdictRecord | Fault:
    """Judge one kernel; a fault of the machine is tried again. Never raises for what a kernel does.

    `hurry` is `check_source`'s: for a judge that has the machine to itself.
    """
    verdict = retried(
        task.puzzle,
        task.source,
        "cpu" if setting.device == "cpu" else "cuda",
        diagnose=setting.diagnose,
        runner=Bounded(runner, setting.seconds, stopped or threading.Event()),
        seed=None if secret is None else seed_from(secret, task.puzzle),
        hurry=hurry,
    )
    if verdict.status == "infra_error":
        failure = verdict.failure
        message = plain(failure.message) if failure else "the grader failed"
        return Fault(key=task.key, message=message, tried=1 + RETRIES)
    run = Run(seconds=round(verdict.seconds, 3), isolation=str(getattr(runner, "tier", "")))
    return VerdictRecord(key=task.key, facts=facts_of(verdict), run=run)


@dataclass
class Bounded:
    """A runner with `seconds` for all of one verdict. In a session every call after that ends as ``timeout``."""

    runner: Runner
    seconds: float
    stopped: threading.Event
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
        from checker.compiler import not_compiled

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


MEMORY = 2**30
"""Bytes that one verdict may take."""


def jobs_here() -> int:
    """How many verdicts at a time this process has processors and memory for."""
    processors = len(os.sched_getaffinity(0))
    free = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
    return max(1, min(processors, int(free[1]) * 1024 // MEMORY) if free else processors)


@dataclass
class Local:
    """This machine's processors: `jobs` verdicts at a time in one warm sandbox."""

    runner: Runner
    secret: bytes | None = None
    jobs: int = 1

    def verdicts(self, wanted: Sequence[Task], setting: Setting) -> Iterator[VerdictRecord | Fault]:
        stopped = threading.Event()
        hurry = self.jobs <= 1
        make = partial(
            verdict_record, setting=setting, secret=self.secret, runner=self.runner, stopped=stopped, hurry=hurry
        )
        if hurry:
            yield from map(make, wanted)
            return
        pool = ThreadPoolExecutor(self.jobs, thread_name_prefix="judge")
        waiting: set[Future[VerdictRecord | Fault]] = {pool.submit(make, task) for task in wanted}
        try:
            while waiting:
                ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in ready)
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            if waiting and hasattr(self.runner, "close"):  # what runs now ends now, and counts as never begun
                self.runner.close()
