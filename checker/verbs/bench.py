"""Times a kernel on this machine's GPU, beside the course's own solution and the bytes that the rung has to move."""

from __future__ import annotations

from checker import gpu
from checker.checking import check_source
from checker.judge.verdict import Verdict
from checker.puzzle import Case, Puzzle
from checker.sandbox import Sandbox
from checker.submission.from_path import from_path
from checker.submission.kernel import KernelSource
from checker.verbs.measuring import timed_launch
from checker.verbs.panels import Cell, Panel
from checker.workspace import Workspace


class NoBench(Exception):
    """There is nothing to time with here; the message says why."""


def bench_panel(puzzle: Puzzle, source: KernelSource, space: Workspace) -> Panel | Verdict:
    """Time every case that is made for a GPU; a kernel that does not pass gets its verdict instead. Raises NoBench."""
    if not gpu.available():
        raise NoBench(
            "bench needs a GPU that torch can use, and there is none here: doctor says more. A film shows the bytes moved."
        )
    verdict = check_source(puzzle, source, "cuda", diagnose=False)
    if not verdict.passed:
        return verdict  # how fast a wrong kernel is says nothing
    cases = [case for case in puzzle.cases if case.devices == {"gpu"}] or [puzzle.cases[-1]]
    solution = _solution(puzzle, space)
    rows = [_row(puzzle, source, solution, case) for case in cases]
    heads = ("case", "yours", "spread", "bytes/s", "the course's", "yours is")
    words = (
        "The median of several launches, each with a cold L2 cache. `bytes/s` counts the bytes that the rung has to move: "
        "compare it with the memory bandwidth of the GPU.",
    )
    return Panel(f"{puzzle.title} on {gpu.device_name()}", (), heads, rows, footer=words)


def _row(puzzle: Puzzle, source: KernelSource, solution: KernelSource | None, case: Case) -> list[Cell]:
    try:
        (mine,) = Sandbox.shared().time(source, [timed_launch(puzzle, source, case)])
    except RuntimeError as error:
        return [Cell(case.name), Cell(str(error), "bad"), *[Cell("")] * 4]
    moved = sum(a.loaded + a.stored for a in puzzle.budget(case).values())
    cells = [
        Cell(case.name),
        Cell(_time(mine.median), number=True),
        Cell(f"{_time(mine.low)} to {_time(mine.high)}", "soft", number=True),
        Cell(f"{moved / mine.median / 1e9:,.0f} GB/s", number=True),
    ]
    if solution is None:
        return [*cells, Cell(""), Cell("")]
    try:
        (theirs,) = Sandbox.shared().time(solution, [timed_launch(puzzle, solution, case)])
    except RuntimeError as error:
        return [*cells, Cell(str(error), "bad"), Cell("")]
    ratio = theirs.median / mine.median
    word = "as fast" if 0.97 <= ratio <= 1.03 else f"{ratio:.2f} × as fast"
    return [*cells, Cell(_time(theirs.median), number=True), Cell(word, "good" if ratio >= 0.97 else "")]


def _solution(puzzle: Puzzle, space: Workspace) -> KernelSource | None:
    path = space.solution_file(puzzle.name)
    if path is None:
        return None
    return next((found.source for found in from_path(path, [puzzle]) if found.source is not None), None)


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.2f} ms"
