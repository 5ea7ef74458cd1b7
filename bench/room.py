"""How long a room of learners on one server waits for verdicts, and how much memory it needs.

    python bench/room.py [--learners 1 10 40] [--rounds 2] [--write]

Each learner is a process with a sandbox of its own, like a notebook. In every round, each checks one kernel of the three-hour run sheet, all at
the same moment; half of the kernels are right, and half are wrong kernels of the bank, whose diagnosis takes longer. A last round is paced:
a check every 90 / N seconds, like a class at work. Memory is PSS, which counts a shared page once. `--write` keeps the table in
reports/room.{json,md}. A room that would leave less than 2 GB free is skipped with a message.
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

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from checker.misconceptions import bank  # noqa: E402
from classroom.workshop import room_size  # noqa: E402
from classroom.workshop.agenda import agenda, lessons  # noqa: E402
from classroom.workshop.room_size import PACE, SERVER, SimulatedLearner, Try, Watch  # noqa: E402

REPORT = ROOT / "reports" / "room"
LEAST_FREE = 2000  # MB


@dataclass(frozen=True)
class Measured:
    """Seconds per verdict, and MB of all learners together without their Jupyter servers."""

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
    """What `count` learners check in one round: right and wrong kernels in turn."""
    rows = agenda(lessons(ROOT / "notebooks"), 180).rows
    puzzles = [row.puzzles[0] for row in rows if row.kind == "exercise"]
    names = [puzzles[number // 2 % len(puzzles)] for number in range(count)]
    return [Try(name, rng.choice(bank(name)).name if number % 2 else "") for number, name in enumerate(names)]


def measure(count: int, rounds: int) -> Measured:
    rng = random.Random(0)
    with room_size.room(count) as people:
        pids = [one.pid for one in people]
        room_size.check_at_once(people, kernels(1, rng) * count)  # starts the workers; no time counts yet
        idle, private = sum(map(room_size.memory, pids)), sum(map(room_size.private_memory, pids))
        before = sum(map(room_size.processor, pids))
        with Watch(pids) as watch:
            seconds = [a.seconds for _ in range(rounds) for a in room_size.check_at_once(people, kernels(count, rng))]
        used = sum(map(room_size.processor, pids)) - before
        slow = paced(people, kernels(count, rng))
    together = (statistics.median(seconds), percentile(seconds), max(seconds))
    memory = (idle, watch.peak, private)
    return Measured(
        count, len(seconds), *together, statistics.median(slow), percentile(slow), *memory, used / len(seconds)
    )


def paced(people: Sequence[SimulatedLearner], tries: Sequence[Try]) -> list[float]:
    """Seconds per verdict when a check begins every `PACE` / N seconds, whether or not the last one is done."""
    seconds: list[float] = []

    def check(learner: SimulatedLearner, kernel: Try) -> None:
        learner.begin(kernel)
        seconds.append(learner.answer().seconds)

    threads = [threading.Thread(target=check, args=pair) for pair in zip(people, tries, strict=True)]
    for thread in threads:
        thread.start()
        time.sleep(PACE / len(people))
    for thread in threads:
        thread.join()
    return seconds


def percentile(seconds: Sequence[float], share: float = 0.95) -> float:
    return sorted(seconds)[max(0, round(share * len(seconds)) - 1)]


def page(rows: Sequence[Measured], machine: str) -> str:
    lines = "\n".join(
        f"| {r.learners} | {r.median:.1f} | {r.p95:.1f} | {r.slowest:.1f} | {r.paced_median:.1f} | {r.paced_p95:.1f} | "
        f"{r.idle / 1024:.1f} | {r.peak / 1024:.1f} | {r.private / r.learners:.0f} | {r.processor:.1f} |"
        for r in rows
    )
    return f"""# A room on one server

Made by `python bench/room.py --write` on {machine}, with kernels of the three-hour run sheet, half of them wrong.

| learners | all at once: median s | p95 s | slowest s | paced: median s | p95 s | memory idle, GB | peak, GB | per learner, MB | core seconds per check |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
{lines}

Paced means one check every {PACE:.0f} s per learner, like a class at work. Memory covers the notebooks' kernels and their workers (PSS, which counts a
shared page once). A JupyterHub adds {SERVER:.0f} MB for each learner's Jupyter server.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--learners", type=int, nargs="+", default=[1, 10, 40])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="keep the table in reports/")
    options = parser.parse_args()
    rows: list[Measured] = []
    for count in sorted(options.learners):
        needed = count * (rows[-1].peak / rows[-1].learners if rows else 400)
        free = psutil.virtual_memory().available / 2**20
        if free - needed < LEAST_FREE:
            print(f"skipping {count} learners: they would need {needed:.0f} MB, and {free:.0f} MB are free", flush=True)
            continue
        rows.append(measure(count, options.rounds))
        print(rows[-1], flush=True)
    machine = f"{os.cpu_count()} cores and {psutil.virtual_memory().total / 2**30:.0f} GB"
    print(page(rows, machine))
    if options.write:
        facts = {"machine": machine, "rows": [asdict(row) for row in rows]}
        REPORT.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")
        REPORT.with_suffix(".md").write_text(page(rows, machine))


if __name__ == "__main__":
    main()
