"""`judge`: makes the verdicts that are missing. Each is stored as soon as it is made."""

from __future__ import annotations

import os
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec
from markupsafe import Markup
from matplotlib import style

from checker.api.grading import (
    RETRIES,
    Bounded,
    KernelSource,
    Puzzle,
    Runner,
    Verdict,
    card_html,
    judged,
    plain,
    result_of,
    without_broken,
)
from classroom.grading.keys import Setting, key_of, without_origin
from classroom.grading.records import Collected, Fault, Kernel, StoredVerdict, described
from classroom.grading.store import RunFolder

MOST_TRIES = 20
"""How many different kernels of a learner are judged for a puzzle: the last ones."""
MEMORY = 2**30
"""Bytes that one verdict may take."""


_READABLE = msgspec.json.Decoder(StoredVerdict)
"""Made before there are threads: msgspec crashes where two of them prepare a type at the same time."""
_DRAWING = threading.Lock()
"""Matplotlib, which draws the error map of a card, is not made for several threads."""


@dataclass(frozen=True)
class Task:
    """One verdict to make, for the `learners` who handed in this kernel."""

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
    """Every different kernel of the class, in the order of the roster, and what is left of those that break a rule."""
    by_name = {puzzle.name: puzzle for puzzle in puzzles}
    owners: dict[str, list[str]] = {}  # learners, by the name of a kernel
    for learner in collected.learners:
        for name in dict.fromkeys(k.source for k in tried(learner.kernels) if k.source and k.puzzle in by_name):
            owners.setdefault(name, []).append(learner.person.id)
    made: dict[str, Task] = {}
    for name, learners in owners.items():
        try:
            kernel = without_origin(folder.kernel(name))
            puzzle = by_name[kernel.puzzle]
            rest = without_broken(kernel, puzzle)
            keys = {key_of(puzzle, one, setting): one for one in (kernel, *(rest[:1] if rest else ()))}
        except Exception:  # one kernel must not end the run; `score` says what is wrong with it
            continue
        for key, one in keys.items():
            others = made[key].learners if key in made else ()
            made[key] = Task(key, puzzle, one, tuple(dict.fromkeys((*others, *learners))))
    return list(made.values())


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
    """Makes verdicts somewhere, in any order. If the machine cannot make a verdict, the engine gives a Fault."""

    def verdicts(self, wanted: Sequence[Task], setting: Setting) -> Iterator[StoredVerdict | Fault]: ...


def judge_missing(
    folder: RunFolder,
    wanted: Sequence[Task],
    setting: Setting,
    engine: Engine,
    *,
    learner_seconds: float = 0.0,
    report: Callable[[StoredVerdict | Fault], None] = lambda made: None,
) -> Judged:
    """Judge what has no verdict yet, and store each. Ctrl-C ends it; what is stored stays. Raises OSError if nothing can be stored.

    Once a learner's verdicts took more than `learner_seconds`, the rest of theirs stays ungraded (0: no limit). With a limit, the
    kernels of one learner are judged one after another.
    """
    folder.sweep()
    judged = Judged()
    missing = set(folder.missing(task.key for task in wanted))
    spent = _Spent(learner_seconds, {task.key: task.learners for task in wanted})
    for task in wanted if learner_seconds else ():
        if verdict := folder.verdict(task.key):
            spent.add(verdict)

    def keep(made: StoredVerdict | Fault) -> None:
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
                message = f"this learner's kernels took more than the {learner_seconds:g} s that one learner may use"
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

    def add(self, verdict: StoredVerdict) -> None:
        for learner in self.owners[verdict.key]:
            self.seconds[learner] += verdict.result.seconds

    def over(self, task: Task) -> bool:
        """Whether everyone who handed in this kernel has used up their time."""
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


def stored_verdict(
    task: Task,
    setting: Setting,
    secret: bytes | None,
    runner: Runner,
    stopped: threading.Event | None = None,
    *,
    hurry: bool = False,
) -> StoredVerdict | Fault:
    """Judge one kernel; a fault of the machine is tried again. Never raises for what a kernel does.

    In a `hurry` all processors work on this kernel.
    """
    for left in reversed(range(1 + RETRIES)):
        try:
            verdict = judged(
                task.puzzle,
                task.source,
                "cpu" if setting.device == "cpu" else "cuda",
                secret=secret,
                diagnose=setting.diagnose,
                runner=Bounded(runner, setting.seconds, stopped or threading.Event()),
                hurry=hurry,
            )
            if verdict.status == "infra_error":
                message = plain(verdict.failure.message) if verdict.failure else "the grader failed"
                return Fault(key=task.key, message=message, tried=1 + RETRIES)
            tier = str(getattr(runner, "tier", ""))
            made = StoredVerdict(key=task.key, result=result_of(verdict), card=card_of(verdict), sandbox=tier)
            return _READABLE.decode(msgspec.json.encode(made))  # what is stored can be read again
        except Exception as error:
            fault = Fault(key=task.key, message=f"the grader failed: {described(error)}", tried=1 + RETRIES - left)
    return fault


def card_of(verdict: Verdict) -> str:
    """The card without points, which a policy decides later. Never raises: the verdict counts without a card."""
    try:
        with _DRAWING, style.context("default"):  # whatever matplotlibrc the working directory has
            return card_html(replace(verdict, max_score=0.0))
    except Exception as error:  # a defect of ours
        return str(Markup("<p>There is no card for this verdict: {}: {}</p>").format(type(error).__name__, error))


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

    def verdicts(self, wanted: Sequence[Task], setting: Setting) -> Iterator[StoredVerdict | Fault]:
        stopped = threading.Event()
        hurry = self.jobs <= 1
        make = partial(
            stored_verdict, setting=setting, secret=self.secret, runner=self.runner, stopped=stopped, hurry=hurry
        )
        if hurry:
            yield from map(make, wanted)
            return
        pool = ThreadPoolExecutor(self.jobs, thread_name_prefix="judge")
        waiting: set[Future[StoredVerdict | Fault]] = {pool.submit(make, task) for task in wanted}
        try:
            while waiting:
                ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in ready)
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            if waiting and hasattr(
                self.runner, "close"
            ):  # a verdict that is being made ends now and is made again later
                self.runner.close()
