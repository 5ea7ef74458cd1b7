"""`bench`: times a kernel on this machine's GPU, beside the course's own solution and the bytes that the puzzle has to move."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from checker import gpu, workspace
from checker.checking import check_source
from checker.judge.verdict import Verdict
from checker.puzzle import Case, Launch, Puzzle, Scalar
from checker.sandbox import Sandbox
from checker.submission.from_path import from_path
from checker.submission.kernel import KernelSource
from checker.verbs.arguments import UnavailableHere, kernel_named, sizes_as_usage_errors
from checker.view import display
from checker.view.panel import Cell, Panel

HEADS = ("case", "yours", "spread", "bytes/s", "the course's", "yours is")


def bench(kernel: Any) -> Panel | Verdict:
    """Time a live kernel. Raises UsageError."""
    return bench_and_show(*kernel_named(kernel, "bench"))


def bench_and_show(puzzle: Puzzle, source: KernelSource) -> Panel | Verdict:
    """Time every case that is made for a GPU; a kernel that does not pass gets its verdict instead. Raises UnavailableHere."""
    with display.working(f"Timing {source.kernel} …") as area:
        if not gpu.available():
            raise UnavailableHere(
                "bench needs a GPU that torch can use, and there is none here: doctor says more. A film shows the bytes moved."
            )
        verdict = check_source(puzzle, source, "cuda", diagnose=False)
        if not verdict.passed:  # how fast a wrong kernel is says nothing
            area.show(display.verdict_card(verdict))
            return display.shown(verdict)
        panel = _panel(puzzle, source)
        area.show(panel)
    return display.shown(panel)


def _panel(puzzle: Puzzle, source: KernelSource) -> Panel:
    cases = [case for case in puzzle.cases if case.devices == {"gpu"}] or [puzzle.cases[-1]]
    path = workspace.find().solution_file(puzzle.name)
    solution = kernel_in(path, puzzle) if path else None
    footer = (
        "The median of several launches, each with a cold L2 cache. `bytes/s` counts the bytes that the puzzle has to move: "
        "compare it with the memory bandwidth of the GPU.",
    )
    rows = [_row(puzzle, source, solution, case) for case in cases]
    return Panel(f"{puzzle.title} on {gpu.device_name()}", (), HEADS, rows, footer=footer)


def _row(puzzle: Puzzle, source: KernelSource, solution: KernelSource | None, case: Case) -> list[Cell]:
    try:
        (mine,) = Sandbox.shared().time(source, [timed_launch(puzzle, source, case)])
    except RuntimeError as error:
        return [Cell(case.name), Cell(str(error), "bad"), *[Cell("")] * 4]
    cells = [
        Cell(case.name),
        Cell(duration(mine.median), number=True),
        Cell(f"{duration(mine.low)} to {duration(mine.high)}", "soft", number=True),
        Cell(f"{allowed_bytes(puzzle, case) / mine.median / 1e9:,.0f} GB/s", number=True),
    ]
    if solution is None:
        return [*cells, Cell(""), Cell("")]
    try:
        (theirs,) = Sandbox.shared().time(solution, [timed_launch(puzzle, solution, case)])
    except RuntimeError as error:
        return [*cells, Cell(str(error), "bad"), Cell("")]
    ratio = theirs.median / mine.median
    words = "as fast" if 0.97 <= ratio <= 1.03 else f"{ratio:.2f} × as fast"
    return [*cells, Cell(duration(theirs.median), number=True), Cell(words, "good" if ratio >= 0.97 else "")]


# --- what comparisons in notebooks use too ------------------------------------------------------------------------------


def kernel_in(path: Path, puzzle: Puzzle) -> KernelSource | None:
    """The puzzle's kernel in a file; None where it cannot be read."""
    return next((found.source for found in from_path(path, [puzzle]) if found.source is not None), None)


def launch_of(puzzle: Puzzle, case: Case, meta: Mapping[str, Scalar] | None = None) -> Launch:
    """A launch without the float64 reference that `prepare` computes: at large sizes that would take longer than all else."""
    with sizes_as_usage_errors():
        tensors = puzzle.make(case)
    return puzzle.launch(case, tensors, case.meta if meta is None else meta)


def timed_launch(puzzle: Puzzle, source: KernelSource, case: Case, named: Collection[str] = ()) -> Launch:
    """A launch to time: in the kernel's own first configuration, where it has one, except for what the caller `named`."""
    if not source.configs:
        return launch_of(puzzle, case)
    own = {name: value for name, value in source.configs[0].meta.items() if name not in named}
    launch = launch_of(puzzle, case, {**case.meta, **own})
    return replace(launch, options={**launch.options, **source.configs[0].options})


def allowed_bytes(puzzle: Puzzle, case: Case) -> int:
    """All that a kernel may load and store."""
    return sum(allowance.loaded + allowance.stored for allowance in puzzle.budget(case).values())


def duration(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.2f} ms"
