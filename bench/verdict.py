"""What a warm verdict costs: each puzzle's solution judged again and again, changed by a comment so that nothing is remembered.

    python bench/verdict.py [--puzzle NAME …] [--repeats 5] [--json FILE] [--device cuda] [--jobs 16]

Prints, for each puzzle, the median seconds by the clock of a verdict on a changed and on an unchanged kernel, the processor seconds
of a changed one (the notebook's process and the jobs'), what two idle cores are predicted to make of these, and how the
processor seconds divide over the steps. On a busy machine the clock means little; processor seconds still do.
The promise: row_softmax changed, on two idle cores, in at most 1.0 s. With `--device cuda` the verdict is that of the GPU here, and
`--jobs` says how many verdicts a minute come of so many at a time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from checker.checking import check_source  # noqa: E402
from checker.course import LADDER, PUZZLES  # noqa: E402
from checker.judge.compile_gate import Compilation  # noqa: E402
from checker.judge.launches import Prepared, plan, prepare_all  # noqa: E402
from checker.judge.outcome import simulate_cases  # noqa: E402
from checker.puzzle import Puzzle  # noqa: E402
from checker.sandbox import Sandbox  # noqa: E402
from checker.submission import rules  # noqa: E402
from checker.submission.kernel import KernelSource  # noqa: E402
from classroom.workshop import simulated  # noqa: E402
from tests.judge.helpers import solution  # noqa: E402

CORES = 2
_NUMBERS = count()


@dataclass(frozen=True)
class Steps:
    """Processor seconds of one verdict, step by step; jobs included."""

    source: float
    prepare: float
    compile: float  # every variant for one GPU, one for the others
    simulate: float  # and compare: values, memory, traffic


@dataclass(frozen=True)
class Cost:
    """Seconds: medians by the clock, and of processors."""

    puzzle: str
    changed: float
    unchanged: float
    processor: float
    predicted: float
    steps: Steps


class Meter:
    """Processor seconds of this process and of all jobs of a sandbox, once those have ended."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._pid = sandbox.worker.pid

    def read(self) -> float:
        """Waits until no job is left: what a process used is only added up when it has ended."""
        children = Path(f"/proc/{self._pid}/task/{self._pid}/children")
        while children.read_text().split():
            time.sleep(0.05)
        return time.process_time() + simulated.processor(self._pid)

    def of(self, work: Callable[[], object]) -> float:
        before = self.read()
        work()
        return self.read() - before


def changed(source: KernelSource) -> KernelSource:
    """The same kernel to a reader, another one to every cache."""
    return replace(source, source=f"{source.source}\n# {os.getpid()} {next(_NUMBERS)}\n")


def check_passed(puzzle: Puzzle, kernel: KernelSource, device: str, sandbox: Sandbox) -> None:
    """Raises RuntimeError where the kernel does not pass."""
    verdict = check_source(puzzle, kernel, device, runner=sandbox)
    if not verdict.passed:
        raise RuntimeError(f"{puzzle.name} is {verdict.status}: {verdict.failure}")


def on_device(puzzle: Puzzle, sandbox: Sandbox, device: str, repeats: int) -> tuple[float, float]:
    """Seconds by the clock and of processors of a warm verdict on a changed kernel. Raises RuntimeError where it does not pass."""
    meter, source = Meter(sandbox), solution(puzzle.name)

    def verdict() -> None:
        check_passed(puzzle, changed(source), device, sandbox)

    verdict()
    began = time.perf_counter()
    processor = meter.of(lambda: [verdict() for _ in range(repeats)]) / repeats
    return (time.perf_counter() - began) / repeats, processor


def a_minute(puzzles: Sequence[Puzzle], sandbox: Sandbox, device: str, jobs: int, each: int) -> float:
    """How many verdicts of changed solutions come in a minute, `jobs` at a time, `each` of every puzzle."""
    kernels = [(puzzle, changed(solution(puzzle.name))) for _ in range(each) for puzzle in puzzles]
    began = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        verdicts = list(pool.map(lambda pair: check_source(*pair, device, runner=sandbox, hurry=False), kernels))
    if not all(verdict.passed for verdict in verdicts):
        raise RuntimeError(f"not all pass: {[(v.puzzle, v.status) for v in verdicts if not v.passed]}")
    return 60 * len(verdicts) / (time.perf_counter() - began)


def cost(puzzle: Puzzle, sandbox: Sandbox, repeats: int) -> Cost:
    """Raises RuntimeError where the solution does not pass: the time of another verdict says nothing."""
    meter, source = Meter(sandbox), solution(puzzle.name)

    def verdict(kernel: KernelSource) -> float:
        began = time.perf_counter()
        check_passed(puzzle, kernel, "cpu", sandbox)
        return time.perf_counter() - began

    verdict(source)
    unchanged = statistics.median(verdict(source) for _ in range(repeats))
    walls: list[float] = []
    processor = meter.of(lambda: walls.extend(verdict(changed(source)) for _ in range(repeats))) / repeats
    measured = [steps(puzzle, changed(source), sandbox, meter) for _ in range(repeats)]
    middle = Steps(*(statistics.median(values) for values in zip(*(asdict(s).values() for s in measured), strict=True)))
    return Cost(puzzle.name, statistics.median(walls), unchanged, processor, predict(middle), middle)


def steps(puzzle: Puzzle, source: KernelSource, sandbox: Sandbox, meter: Meter) -> Steps:
    """Each step by itself."""
    prepared: list[Prepared] = []
    cases = [case for case in puzzle.cases if "cpu" in case.devices]
    rules_cost = meter.of(lambda: rules.violations(source, puzzle))
    preparing = meter.of(lambda: prepared.extend(prepare_all(puzzle, plan(puzzle, cases, source.configs))))

    def compiling() -> None:
        compilation = Compilation(puzzle, source, sandbox, prepared)
        compilation.first()
        compilation.rest()

    simulating = meter.of(lambda: simulate_cases(puzzle, source, sandbox, prepared))
    return Steps(rules_cost, preparing, meter.of(compiling), simulating)


def predict(spent: Steps, cores: int = CORES) -> float:
    """Seconds by the clock on idle cores, if they share all that jobs do evenly."""
    return spent.source + spent.prepare + (spent.compile + spent.simulate) / cores


def table(costs: Sequence[Cost]) -> str:
    heads = ("changed", "unchanged", "CPU", "predicted", "source", "prepare", "compile", "simulate")
    lines = [f"{'seconds':24}" + "".join(f"{head:>11}" for head in heads)]
    for one in costs:
        numbers = (one.changed, one.unchanged, one.processor, one.predicted, *asdict(one.steps).values())
        lines.append(f"{one.puzzle:24}" + "".join(f"{number:11.2f}" for number in numbers))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--puzzle", action="append", choices=list(PUZZLES), help="only this one; may be repeated")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE as well")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--jobs", type=int, default=0, help="so many verdicts at a time: how many a minute")
    options = parser.parse_args()
    chosen = [puzzle for puzzle in LADDER if not options.puzzle or puzzle.name in options.puzzle]
    with Sandbox() as sandbox:
        sandbox.worker.wait_ready()
        if options.jobs or options.device == "cuda":
            for puzzle in chosen:
                clock, processor = on_device(puzzle, sandbox, options.device, options.repeats)
                print(f"{puzzle.name:34}{clock:8.2f} s by the clock{processor:8.2f} s of processors", flush=True)
            if options.jobs:
                many = a_minute(chosen, sandbox, options.device, options.jobs, options.repeats)
                print(f"{many:.0f} verdicts a minute, {options.jobs} at a time, on {os.cpu_count()} cores")
            return
        costs = [cost(puzzle, sandbox, options.repeats) for puzzle in chosen]
    print(table(costs))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; predicted for {CORES} idle cores")
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(one) for one in costs], indent=1) + "\n")


if __name__ == "__main__":
    main()
