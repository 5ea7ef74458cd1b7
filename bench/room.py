"""Forty learners on one server who press `check` at the same moment: seconds a verdict, memory of the whole room.

    python bench/room.py [--learners 1 10 40] [--rounds 2] [--write]

Each learner is a process with a sandbox of its own, as each notebook has. In every round each checks one kernel of the three-hour run
sheet, all at once; half of the kernels are right and half are wrong kernels of the bank, whose diagnosis takes longer. A second round is
paced: a learner every 90 / N seconds, as a class at work presses. Memory is PSS, which counts a shared page once. `--write` keeps the
table in reports/room.{json,md}. A room that would leave less than 2 GB of this machine free is not measured, which is said.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from classroom.workshop.simulated import SimulatedLearner, Try  # noqa: E402

from checker.misconceptions import bank  # noqa: E402
from classroom.workshop import simulated  # noqa: E402
from classroom.workshop.agenda import agenda, lessons  # noqa: E402
from classroom.workshop.room_size import PACE, SERVER, Watch, room  # noqa: E402

REPORT = ROOT / "reports" / "room"
LEAST_FREE = 2000  # MB


@dataclass(frozen=True)
class Measured:
    """Seconds a verdict, and MB of all learners together, without their Jupyter servers."""

    learners: int
    checks: int
    median: float
    p95: float
    slowest: float
    paced_median: float
    paced_p95: float
    idle: float
    peak: float
    private: float
    processor: float


def kernels(count: int, rng: random.Random) -> list[Try]:
    """What `count` learners check in one round: right and wrong kernels of the same run sheet, by turns."""
    rows = agenda(lessons(ROOT / "notebooks"), 180).rows
    puzzles = [row.puzzles[0] for row in rows if row.kind == "exercise"]
    tries = []
    for number in range(count):
        puzzle = puzzles[number // 2 % len(puzzles)]
        tries.append(Try(puzzle, rng.choice(bank(puzzle)).name if number % 2 else ""))
    return tries


def measure(count: int, rounds: int) -> Measured:
    rng = random.Random(0)
    with room(count) as present:
        pids = [one.pid for one in present]
        simulated.at_once(present, kernels(1, rng) * count)  # starts the workers; no time counts yet
        idle, private = sum(map(simulated.memory, pids)), sum(map(simulated.private, pids))
        before = sum(map(simulated.processor, pids))
        with Watch(pids) as watch:
            seconds = [a.seconds for _ in range(rounds) for a in simulated.at_once(present, kernels(count, rng))]
        used = sum(map(simulated.processor, pids)) - before
        slow = paced(present, kernels(count, rng))
    return Measured(
        count,
        len(seconds),
        statistics.median(seconds),
        percentile(seconds),
        max(seconds),
        statistics.median(slow),
        percentile(slow),
        idle,
        watch.peak,
        private,
        used / len(seconds),
    )


def paced(present: Sequence[SimulatedLearner], tries: Sequence[Try]) -> list[float]:
    """A check every `PACE` / N seconds, whether the one before is done or not."""
    found: list[float] = []

    def one(learner: SimulatedLearner, tried: Try) -> None:
        learner.begin(tried)
        found.append(learner.answer().seconds)

    threads = [threading.Thread(target=one, args=pair) for pair in zip(present, tries, strict=True)]
    for thread in threads:
        thread.start()
        time.sleep(PACE / len(present))
    for thread in threads:
        thread.join()
    return found


def percentile(seconds: Sequence[float], share: float = 0.95) -> float:
    return sorted(seconds)[max(0, round(share * len(seconds)) - 1)]


def free() -> float:
    """MB that this machine has left."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("MemAvailable:"))


def table(rows: Sequence[Measured], machine: str) -> str:
    lines = [
        "# A room on one server",
        "",
        f"Made by `python bench/room.py --write` on {machine}. Kernels of the three-hour run sheet, half of them wrong.",
        "",
        "| learners | all at once: median s | p95 s | slowest s | at the pace of a class: median s | p95 s | "
        "memory idle, GB | peak, GB | each more, MB | processor s a check |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        lines.append(
            f"| {row.learners} | {row.median:.1f} | {row.p95:.1f} | {row.slowest:.1f} | {row.paced_median:.1f} | {row.paced_p95:.1f} | "
            f"{row.idle / 1024:.1f} | {row.peak / 1024:.1f} | {row.private / row.learners:.0f} | {row.processor:.1f} |"
        )
    lines += [
        "",
        f"The pace of a class is one check every {PACE:.0f} s for each learner. Memory is that of the notebooks' kernels and of their workers "
        f"(PSS: a shared page counts once). A Jupyter server for each learner comes on top, {SERVER:.0f} MB on a JupyterHub.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--learners", type=int, nargs="+", default=[1, 10, 40])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="keep the table in reports/")
    options = parser.parse_args()
    rows: list[Measured] = []
    for count in sorted(options.learners):
        needed = count * (rows[-1].peak / rows[-1].learners if rows else 400)
        if free() - needed < LEAST_FREE:
            print(
                f"{count} learners are not measured: they would need {needed:.0f} MB, and {free():.0f} MB are free",
                flush=True,
            )
            continue
        rows.append(measure(count, options.rounds))
        print(rows[-1], flush=True)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = f"{os.cpu_count()} cores and {memory:.0f} GB"
    print(table(rows, machine))
    if options.write:
        facts = {"machine": machine, "rows": [asdict(row) for row in rows]}
        REPORT.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")
        REPORT.with_suffix(".md").write_text(table(rows, machine))


if __name__ == "__main__":
    main()
