"""The server that a class needs: a few simulated learners check kernels here, and the rest is a sum.

Each simulated learner is a process with a sandbox of its own, as a notebook's kernel is: ``python -m classroom.workshop.room_size`` reads
a `Try` per line and answers with an `Answer`.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import psutil

if TYPE_CHECKING:
    from checker.api.course import KernelSource

SERVER = 110.0  # MB of a learner's Jupyter server on a JupyterHub, as measured with JupyterHub 6.1
SYSTEM = 1500.0  # MB for the system, the hub and the board
PACE = 90.0  # seconds between two checks of a learner at work; a class that is stuck checks less often
SHARE = 0.7  # of the cores may be busy with checks; the rest is for editing, films and bursts
SAMPLING = 0.1  # seconds between two looks at the memory


@dataclass(frozen=True)
class Try:
    """One check by a learner: of the course's solution, or of the bank's wrong kernel named `mistake`."""

    puzzle: str
    mistake: str = ""


@dataclass(frozen=True)
class Answer:
    seconds: float
    status: str


@dataclass(frozen=True)
class Measured:
    """Some learners who check at the same time. Memory in MB; the three times in seconds per check.

    Each learner has `private` memory, all of them share `shared`, and a check adds `during`. `processor` is the time on a core.
    """

    private: float
    shared: float
    during: float
    processor: float
    alone: float
    together: float


@dataclass(frozen=True)
class Needs:
    """Memory in GB, cores, and the seconds until the last verdict if all learners check at once on those cores."""

    memory: float
    cores: int
    burst: float


class SimulatedLearner:
    """A process that checks kernels. `begin` and `answer` are separate so that many learners can check at the same time."""

    def __init__(self) -> None:
        root = str(Path(__file__).resolve().parents[2])
        environment = os.environ | {"PYTHONPATH": root, "OMP_NUM_THREADS": "1"}
        command, pipe = [sys.executable, "-m", "classroom.workshop.room_size"], subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)

    @property
    def pid(self) -> int:
        return self._process.pid

    def begin(self, check: Try) -> None:
        pipe = cast(IO[str], self._process.stdin)
        pipe.write(json.dumps(asdict(check)) + "\n")
        pipe.flush()

    def answer(self) -> Answer:
        """Wait for the verdict. Raises RuntimeError if the process has ended."""
        line = cast(IO[str], self._process.stdout).readline()
        if not line:
            raise RuntimeError(f"a simulated learner ended with {self._process.wait()}")
        return Answer(**json.loads(line))

    def close(self) -> None:
        cast(IO[str], self._process.stdin).close()
        self._process.wait(30)


@contextmanager
def room(learners: int) -> Iterator[list[SimulatedLearner]]:
    with ExitStack() as stack:
        yield [stack.enter_context(closing(SimulatedLearner())) for _ in range(learners)]


def check_at_once(learners: Sequence[SimulatedLearner], tries: Sequence[Try]) -> list[Answer]:
    for learner, check in zip(learners, tries, strict=True):
        learner.begin(check)
    return [learner.answer() for learner in learners]


def measure(tries: Sequence[Try], learners: int = 3) -> Measured:
    """Start some simulated learners and let each check each of `tries`, all at once. Takes a minute."""
    with room(learners) as people:
        for check in tries:  # starts the workers; no time counts yet
            check_at_once(people, [check] * learners)
        pids = [one.pid for one in people]
        idle, private = sum(map(memory, pids)), sum(map(private_memory, pids))
        alone = statistics.median(check_at_once(people[:1], [check])[0].seconds for check in tries)
        before = sum(map(processor, pids))
        with Watch(pids) as watch:
            answers = [answer for check in tries for answer in check_at_once(people, [check] * learners)]
        used = sum(map(processor, pids)) - before
    together = statistics.median(answer.seconds for answer in answers)
    during = max(watch.peak - idle, 0.0) / learners
    return Measured(private / learners, idle - private, during, used / len(answers), alone, together)


def needs(measured: Measured, learners: int) -> Needs:
    """Cores for a class in which each learner checks every `PACE` seconds; memory for all, and for two checks per core."""
    cores = max(2, round(learners * measured.processor / PACE / SHARE + 0.5))
    checking = measured.during * min(2 * cores, learners)
    total = SYSTEM + measured.shared + learners * (measured.private + SERVER) + checking
    return Needs(total / 1024, cores, learners * measured.processor / cores)


# --- what a process and its children use -----------------------------------------------------------------------------------


def _tree(pid: int) -> Iterator[psutil.Process]:
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        yield from (process, *process.children(recursive=True))


def memory(pid: int) -> float:
    """MB of a process tree, counting its share of each shared page (PSS)."""
    return _sum_memory(pid, "pss")


def private_memory(pid: int) -> float:
    """MB that a process tree shares with nobody: what one more of its kind takes."""
    return _sum_memory(pid, "uss")


def _sum_memory(pid: int, field: str) -> float:
    total = 0.0
    for process in _tree(pid):
        with suppress(psutil.Error):  # it has ended
            total += getattr(process.memory_full_info(), field) / 2**20
    return total


def processor(pid: int) -> float:
    """Processor seconds of a process tree, including children that have ended."""
    total = 0.0
    for process in _tree(pid):
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


class Watch:
    """The largest memory of some process trees together, in MB, while it is open."""

    def __init__(self, pids: Sequence[int]) -> None:
        self.peak = 0.0
        self._pids, self._over = pids, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._over.wait(SAMPLING):
            self.peak = max(self.peak, sum(map(memory, self._pids)))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


# --- the process of a simulated learner ------------------------------------------------------------------------------------


def main() -> None:
    """Check kernels until the other side closes the pipe."""
    from checker.api import course

    for number, line in enumerate(sys.stdin):
        check = Try(**json.loads(line))
        kernel = _kernel(check)
        fresh = replace(kernel, source=f"{kernel.source}\n# {os.getpid()} {number}\n")  # so that no cache has it
        began = time.perf_counter()
        verdict = course.check(check.puzzle, fresh)
        print(json.dumps(asdict(Answer(time.perf_counter() - began, verdict.status))), flush=True)


def _kernel(check: Try) -> KernelSource:
    from checker.api import course

    wrong = {entry.name: entry.source for entry in course.bank(check.puzzle)}
    return wrong[check.mistake] if check.mistake else course.solution(check.puzzle)


if __name__ == "__main__":
    main()
