"""How long a room of learners on one server waits for verdicts, and how much memory it needs.

    python -m bench.room > reports/room.md

Each learner is a process with a sandbox of its own, like a notebook. In every round, each checks one kernel of the three-hour run sheet, all at
the same moment; half of the kernels are right, and half are wrong kernels of the bank, whose diagnosis takes longer. A last round is paced:
a check every 90 / N seconds, like a class at work.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer

from bench.processes import Watch, memory, processor
from checker.api import course
from classroom.workshop.agenda import agenda, lessons
from classroom.workshop.room_size import JUPYTER, PACE

ROOT = Path(__file__).resolve().parents[1]
Kernel = tuple[str, str]
"""A puzzle and a wrong kernel of it, or an empty name for the solution."""


def check(kernel: Kernel, number: int) -> float:
    """Seconds until the verdict, in the process of a learner."""
    puzzle, mistake = kernel
    wrong = {entry.name: entry.source for entry in course.bank(puzzle)}
    source = wrong[mistake] if mistake else course.solution(puzzle)
    fresh = replace(source, source=f"{source.source}\n# {os.getpid()} {number}\n")  # so that no cache has it
    began = time.perf_counter()
    course.check(puzzle, fresh)
    return time.perf_counter() - began


def kernels(count: int, rng: random.Random) -> list[Kernel]:
    """What `count` learners check in one round: right and wrong kernels in turn."""
    rows = agenda(lessons(ROOT / "notebooks"), 180).rows
    puzzles = [row.puzzles[0] for row in rows if row.kind == "exercise"]
    names = [puzzles[number // 2 % len(puzzles)] for number in range(count)]
    return [(name, rng.choice(course.bank(name)).name if number % 2 else "") for number, name in enumerate(names)]


def measure(count: int, rounds: int) -> dict[str, Any]:
    """Seconds per verdict, and MB of all learners together without their Jupyter servers."""
    rng = random.Random(0)
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn")) as room:
        list(room.map(check, kernels(1, rng) * count, range(count)))  # starts all learners; no time counts yet
        pids = [child.pid for child in psutil.Process().children()]
        idle, private = sum(map(memory, pids)), sum(memory(pid, "uss") for pid in pids)
        before, together = sum(map(processor, pids)), []
        with Watch(pids) as watch:
            for n in range(1, rounds + 1):
                together += room.map(check, kernels(count, rng), range(n * count, (n + 1) * count))
        used = sum(map(processor, pids)) - before
        pending = []
        for kernel in kernels(count, rng):
            pending.append(room.submit(check, kernel, -1))
            time.sleep(PACE / count)
        paced = [one.result() for one in pending]
    return {
        "learners": count,
        "median": statistics.median(together),
        "p95": percentile(together),
        "slowest": max(together),
        "paced_median": statistics.median(paced),
        "paced_p95": percentile(paced),
        "idle": idle,
        "peak": watch.peak,
        "private": private,
        "processor": used / len(together),
    }


def percentile(seconds: Sequence[float], share: float = 0.95) -> float:
    return sorted(seconds)[max(0, round(share * len(seconds)) - 1)]


def page(rows: Sequence[dict[str, Any]], machine: str) -> str:
    lines = "\n".join(
        f"| {r['learners']} | {r['median']:.1f} | {r['p95']:.1f} | {r['slowest']:.1f} | {r['paced_median']:.1f} | {r['paced_p95']:.1f} | "
        f"{r['idle'] / 1024:.1f} | {r['peak'] / 1024:.1f} | {r['private'] / r['learners']:.0f} | {r['processor']:.1f} |"
        for r in rows
    )
    return f"""# A room on one server

Made by `python -m bench.room` on {machine}, with kernels of the three-hour run sheet, half of them wrong.

| learners | all at once: median s | p95 s | slowest s | paced: median s | p95 s | memory idle, GB | peak, GB | per learner, MB | core seconds per check |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
{lines}

Paced means one check every {PACE:.0f} s per learner, like a class at work. Memory covers the notebooks' kernels and their workers (PSS, which counts a
shared page once). A JupyterHub adds {JUPYTER:.0f} MB for each learner's Jupyter server.
"""


def main(
    learners: Annotated[list[int], typer.Option(help="learners in a room; repeat it")] = [1, 10, 40],  # noqa: B006
    rounds: int = 2,
) -> None:
    machine = f"{os.cpu_count()} cores and {psutil.virtual_memory().total / 2**30:.0f} GB"
    print(page([measure(count, rounds) for count in sorted(learners)], machine))


if __name__ == "__main__":
    typer.run(main)
