"""What a warm verdict costs: each puzzle's solution is judged again and again, changed by a comment so that nothing is cached.

    python -m bench.verdict --puzzle row_softmax --repeats 5
    python -m bench.verdict --device cuda

Prints, per puzzle, median seconds for a changed and for an unchanged kernel, and the processor seconds of a changed one (this process
and its jobs), which mean something even on a busy machine. The promise: row_softmax, changed, on two idle cores, within 1.0 s.
"""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from bench.processes import processor
from checker.checking import check_source
from checker.course import LADDER
from checker.misconceptions import solution
from checker.puzzle import Puzzle
from checker.sandbox import Sandbox
from checker.submission.kernel import KernelSource, Piece

_NUMBERS = count()


def source_of(puzzle: Puzzle) -> KernelSource:
    text = solution(puzzle.name)
    return KernelSource(puzzle.name, puzzle.kernel, text, (Piece(1, text.count("\n"), f"{puzzle.name}.py", 1),))


def changed(source: KernelSource) -> KernelSource:
    """The same kernel to a reader, a new one to every cache."""
    return replace(source, source=f"{source.source}\n# {os.getpid()} {next(_NUMBERS)}\n")


def seconds(puzzle: Puzzle, kernel: KernelSource, device: str, sandbox: Sandbox) -> float:
    """The time of one verdict. Raises RuntimeError if the kernel does not pass: other verdicts are no measure."""
    began = time.perf_counter()
    verdict = check_source(puzzle, kernel, device, runner=sandbox, hurry=True)
    if not verdict.passed:
        raise RuntimeError(f"{puzzle.name} is {verdict.status}: {verdict.failure}")
    return time.perf_counter() - began


def processor_seconds(sandbox: Sandbox) -> float:
    """Of this process and of all jobs so far. Waits until no job is left, because only then are its seconds counted."""
    pid = sandbox.worker.pid
    children = Path(f"/proc/{pid}/task/{pid}/children")
    while children.read_text().split():
        time.sleep(0.05)
    return time.process_time() + processor(pid)


def cost(puzzle: Puzzle, sandbox: Sandbox, device: str, repeats: int) -> tuple[float, float, float]:
    """Seconds of a changed and of an unchanged kernel, and processor seconds of a changed one."""
    source = source_of(puzzle)
    seconds(puzzle, source, device, sandbox)
    unchanged = statistics.median(seconds(puzzle, source, device, sandbox) for _ in range(repeats))
    before = processor_seconds(sandbox)
    clock = statistics.median(seconds(puzzle, changed(source), device, sandbox) for _ in range(repeats))
    return clock, unchanged, (processor_seconds(sandbox) - before) / repeats


def main(
    puzzle: Annotated[list[str] | None, typer.Option(help="only this one; may be repeated")] = None,
    repeats: int = 5,
    device: str = "cpu",
) -> None:
    """What a warm verdict costs, puzzle by puzzle."""
    puzzles = [one for one in LADDER if not puzzle or one.name in puzzle]
    with Sandbox() as sandbox:
        sandbox.worker.wait_ready()
        print(f"{'seconds':34}{'changed':>11}{'unchanged':>11}{'processor':>11}")
        for one in puzzles:
            print(f"{one.name:34}" + "".join(f"{number:11.2f}" for number in cost(one, sandbox, device, repeats)))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    typer.run(main)
