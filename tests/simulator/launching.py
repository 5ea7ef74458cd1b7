"""Short spellings for tests that launch a kernel in the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from checker.puzzle import Launch
from checker.simulator import Finding, SimulateOptions, Trace, simulate
from checker.simulator.triton_internals import source_of
from checker.submission.kernel import KernelSource
from checker.submission.load import load_kernel


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
    lines, first = source_of(kernel)
    return first + next(i for i, line in enumerate(lines) if text in line)


def kernel_of(folder: Path, *statements: str) -> Any:
    """A kernel of these statements on a tile `x` of 16 elements at `x_ptr + offs`, with `y_ptr` as its output."""
    source = (
        "import triton\nimport triton.language as tl\n\nSCALE = tl.constexpr(3.0)\n\n\n@triton.jit\ndef kernel(x_ptr, y_ptr):\n"
        "    offs = tl.arange(0, 16)\n    x = tl.load(x_ptr + offs)\n" + "".join(f"    {s}\n" for s in statements)
    )
    return load_kernel(KernelSource("", "kernel", source, ()), folder)


def elementwise(kernel: Any, x: torch.Tensor, *, out: torch.dtype | None = None, **meta: Any) -> torch.Tensor:
    """Run a kernel on one tile of 16 lanes and return what it stored."""
    y = torch.zeros(16, dtype=out or x.dtype)
    run(kernel, (1,), ("y_ptr",), meta, x_ptr=x, y_ptr=y)
    return y
