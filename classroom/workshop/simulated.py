"""Simulated learners: each is a process with a sandbox of its own, as each notebook has, and checks kernels when it is told to.

Run as ``python -m classroom.workshop.simulated`` it is one of them: it reads ``{"puzzle", "mistake"}`` a line and answers
``{"seconds", "status"}``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    from checker.submission.kernel import KernelSource

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Try:
    """One check of a learner: the course's solution, or with a `mistake` that wrong kernel of the bank."""

    puzzle: str
    mistake: str = ""


@dataclass(frozen=True)
class Answer:
    seconds: float
    status: str


class SimulatedLearner:
    """One simulated learner. `begin` and `answer` are apart, so that many can check at the same time."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "classroom.workshop.simulated"]
        root = str(Path(__file__).resolve().parents[2])
        environment = os.environ | {"PYTHONPATH": root, "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def begin(self, tried: Try) -> None:
        pipe = cast(IO[str], self._process.stdin)
        pipe.write(json.dumps(asdict(tried)) + "\n")
        pipe.flush()

    def answer(self) -> Answer:
        """Wait for it. Raises RuntimeError where the process has gone."""
        line = cast(IO[str], self._process.stdout).readline()
        if not line:
            raise RuntimeError(f"a simulated learner ended with {self._process.wait()}")
        return Answer(**json.loads(line))

    def close(self) -> None:
        cast(IO[str], self._process.stdin).close()
        self._process.wait(30)


def at_once(learners: Sequence[SimulatedLearner], tries: Sequence[Try]) -> list[Answer]:
    """Everybody presses `check` at the same moment."""
    for learner, tried in zip(learners, tries, strict=True):
        learner.begin(tried)
    return [learner.answer() for learner in learners]


# --- what they take -----------------------------------------------------------------------------------------------------


def tree(pid: int) -> Iterator[int]:
    """A process and all that it started and that still run."""
    yield pid
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from tree(int(child))
    except OSError:
        return  # it has ended


def memory(pid: int) -> float:
    """MB of a process tree: shared pages count for each process by its share (PSS)."""
    return sum(_rollup(each, ("Pss:",)) for each in tree(pid))


def private(pid: int) -> float:
    """MB of a process tree that nobody else shares: what one more of the same kind takes."""
    return sum(_rollup(each, ("Private_Clean:", "Private_Dirty:")) for each in tree(pid))


def _rollup(pid: int, wanted: tuple[str, ...]) -> float:
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0  # it has ended
    return sum(int(line.split()[1]) / 1024 for line in rollup.splitlines() if line.startswith(wanted))


def processor(pid: int) -> float:
    """Seconds of processors that a process tree has used, with those of its children that ended."""
    return sum(_cpu(each) for each in tree(pid))


def _cpu(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return sum(int(field) for field in fields[11:15]) / TICKS


# --- one of them --------------------------------------------------------------------------------------------------------


def main() -> None:
    """Answer until the other side closes."""
    from checker.checking import check_source
    from checker.course import PUZZLES
    from checker.sandbox import Sandbox

    for number, line in enumerate(sys.stdin):
        tried = Try(**json.loads(line))
        kernel = _kernel(tried)
        fresh = replace(kernel, source=f"{kernel.source}\n# {os.getpid()} {number}\n")  # nothing of it is remembered
        began = time.perf_counter()
        verdict = check_source(PUZZLES[tried.puzzle], fresh, "cpu", runner=Sandbox.shared())
        print(json.dumps(asdict(Answer(time.perf_counter() - began, verdict.status))), flush=True)


def _kernel(tried: Try) -> KernelSource:
    from checker.course import PUZZLES
    from checker.misconceptions import SOLUTIONS, bank
    from checker.submission.from_path import from_path

    if tried.mistake:
        return next(wrong.source for wrong in bank(tried.puzzle) if wrong.name == tried.mistake)
    found = from_path(SOLUTIONS / f"{tried.puzzle}.py", [PUZZLES[tried.puzzle]])
    return next(one.source for one in found if one.source is not None)


if __name__ == "__main__":
    main()
