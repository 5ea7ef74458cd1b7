"""Short spellings for tests that launch a kernel in the simulator."""

from __future__ import annotations

from typing import Any

import torch

from checker.puzzle import Launch
from checker.simulator import Finding, SimulateOptions, Trace, simulate


def run(kernel: Any, grid: tuple[int, ...], outputs: tuple[str, ...], meta: dict[str, Any], **arguments: Any) -> Trace:
    """Simulate with events on."""
    return run_with(SimulateOptions(events=True), kernel, grid, outputs, meta, **arguments)


def run_with(
    options: SimulateOptions,
    kernel: Any,
    grid: tuple[int, ...],
    outputs: tuple[str, ...],
    meta: dict[str, Any],
    **arguments: Any,
) -> Trace:
    return simulate(kernel, Launch(grid=grid, arguments=arguments, meta=meta, outputs=outputs), options)


def kinds(trace: Trace) -> set[str]:
    return {f.kind for f in trace.findings}


def only(trace: Trace) -> Finding:
    """The one finding of a trace."""
    assert len(trace.findings) == 1, [f.message for f in trace.findings]
    return trace.findings[0]


def nans(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.full(shape, torch.nan, dtype=dtype)


def line_of(kernel: Any, text: str) -> int:
    """The number of the first line of a kernel's source that contains `text`."""
    from checker.simulator.triton_internals import source_of

    lines, first = source_of(kernel)
    return first + next(i for i, line in enumerate(lines) if text in line)


def elementwise(kernel: Any, x: torch.Tensor, *, out: torch.dtype | None = None, **meta: Any) -> torch.Tensor:
    """Run a kernel on one tile of 16 lanes and return what it stored."""
    y = torch.zeros(16, dtype=out or x.dtype)
    run(kernel, (1,), ("y_ptr",), meta, x_ptr=x, y_ptr=y)
    return y
