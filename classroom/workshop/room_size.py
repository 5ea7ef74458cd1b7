"""What a class needs of one server: a few checks are measured here, and the rest is a sum."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from classroom.workshop import simulated
from classroom.workshop.simulated import SimulatedLearner, Try

SERVER = 110.0
"""MB of a learner's Jupyter server on a JupyterHub (measured with JupyterHub 6.1, docs/workshop/server.md)."""
SYSTEM = 1500.0  # MB for the system, the hub and the board
PACE = 90.0  # seconds between two checks of a learner who is at work; a class that is stuck checks less often
ROOM = 0.7  # of the processors: the rest is for editing, films and bursts
_LOOK = 0.1  # seconds between two looks at the memory


@dataclass(frozen=True)
class Measured:
    """Of some learners who checked at the same time. Memory in MB, seconds as medians.

    `private` is what each learner has alone, `shared` what all share, once; `during` is what a check adds.
    """

    private: float
    shared: float
    during: float
    processor: float
    alone: float
    together: float


@dataclass(frozen=True)
class Needs:
    """GB of memory, cores, and how long a verdict takes if all learners check at once on so many cores."""

    memory: float
    cores: int
    burst: float


def measure(tries: Sequence[Try], learners: int = 3) -> Measured:
    """Start so many simulated learners, let each of them check each of `tries`, all at once. Takes a minute."""
    with room(learners) as present:
        for tried in tries:  # starts the workers; no time counts yet
            simulated.at_once(present, [tried] * learners)
        pids = [one.pid for one in present]
        idle, private = sum(map(simulated.memory, pids)), sum(map(simulated.private, pids))
        alone = statistics.median(simulated.at_once(present[:1], [tried])[0].seconds for tried in tries)
        before = sum(map(simulated.processor, pids))
        with Watch(pids) as watch:
            answers = [answer for tried in tries for answer in simulated.at_once(present, [tried] * learners)]
        used = sum(map(simulated.processor, pids)) - before
    together = statistics.median(answer.seconds for answer in answers)
    during = max(watch.peak - idle, 0.0) / learners
    return Measured(private / learners, idle - private, during, used / len(answers), alone, together)


@contextmanager
def room(learners: int) -> Iterator[list[SimulatedLearner]]:
    with ExitStack() as present:
        yield [present.enter_context(closing(SimulatedLearner())) for _ in range(learners)]


class Watch:
    """The largest sum of the memory of some process trees, in MB, while it is open."""

    def __init__(self, pids: Sequence[int]) -> None:
        self.peak = 0.0
        self._pids, self._over = pids, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._over.wait(_LOOK):
            self.peak = max(self.peak, sum(simulated.memory(pid) for pid in self._pids))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def needs(measured: Measured, learners: int) -> Needs:
    """Cores for a class at work, each learner checking every `PACE` seconds; memory for all, and for as many checks as there are cores."""
    cores = max(2, round(learners * measured.processor / PACE / ROOM + 0.5))
    checking = measured.during * min(2 * cores, learners)
    memory = SYSTEM + measured.shared + learners * (measured.private + SERVER) + checking
    return Needs(memory / 1024, cores, learners * measured.processor / cores)
