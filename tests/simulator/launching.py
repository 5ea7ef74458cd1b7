"""Short spellings for tests that launch a kernel in the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import triton

from checker.puzzle import Launch
from checker.simulator import Finding, SimulateOptions, Trace, simulate
from checker.simulator.triton_internals import source_of
from checker.submission.kernel import KernelSource
from checker.submission.load import load_kernel

EVENTS = SimulateOptions(events=True)
STATE = SimulateOptions(events=True, state=True)
EXPLAIN = SimulateOptions(explain_nan=True)


def run(
    kernel: Any,
    grid: tuple[int, ...],
    outputs: tuple[str, ...],
    meta: dict[str, Any],
    options: SimulateOptions = EVENTS,
    **arguments: Any,
) -> Trace:
    return simulate(kernel, Launch(grid=grid, arguments=arguments, meta=meta, outputs=outputs), options)


def softmax_launch(x: torch.Tensor, **blocks: int) -> Launch:
    """Of a softmax kernel of the ladder, on the rows of `x`; with BLOCK_M on tiles of rows."""
    m, n = x.shape
    arguments = {"x_ptr": x, "y_ptr": nans(m, n), "stride_xm": n, "stride_ym": n, "N": n}
    if "BLOCK_M" in blocks:
        arguments["M"] = m
    return Launch((triton.cdiv(m, blocks.get("BLOCK_M", 1)),), arguments, blocks, ("y_ptr",))


def softmax(
    kernel: Any, x: torch.Tensor, options: SimulateOptions = EVENTS, **blocks: int
) -> tuple[Trace, torch.Tensor]:
    """The trace of such a launch, and what it stored."""
    launch = softmax_launch(x, **blocks)
    return simulate(kernel, launch, options), launch.arguments["y_ptr"]


def attention_launch(
    heads: int,
    n: int,
    causal: bool,
    block: tuple[int, int],
    precision: str = "ieee",
    dtype: torch.dtype = torch.float32,
) -> Launch:
    """Of the ladder's flash_attention, on heads of `n` queries and keys of 16 numbers that are the same each time."""
    random, d = torch.Generator().manual_seed(2), 16
    q, k, v = (torch.randn(heads, n, d, generator=random).to(dtype) for _ in range(3))
    arguments = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": nans(heads, n, d, dtype=dtype)}
    arguments |= {"stride_h": n * d, "stride_n": d, "N": n, "scale": d**-0.5}
    meta = {"D": d, "BLOCK_M": block[0], "BLOCK_N": block[1], "IS_CAUSAL": causal, "PRECISION": precision}
    return Launch((triton.cdiv(n, block[0]), heads), arguments, meta, ("o_ptr",))


def ragged(m: int, n: int, gap: int = 4) -> Launch:
    """A matrix to copy in blocks of 4 × 8, a row of them a program; `gap` elements lie between its rows."""
    x, y = torch.randn(m, n + gap)[:, :n], nans(m, n + 4)[:, :n]
    arguments = {"x_ptr": x, "y_ptr": y, "M": m, "N": n, "stride_xm": n + gap, "stride_ym": n + 4}
    return Launch((triton.cdiv(m, 4),), arguments, {"BLOCK_M": 4, "BLOCK_N": 8}, ("y_ptr",))


def kinds(trace: Trace) -> set[str]:
    return {f.kind for f in trace.findings}


def only(trace: Trace) -> Finding:
    """The one finding of a trace."""
    assert len(trace.findings) == 1, trace.findings
    return trace.findings[0]


def nans(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.full(shape, torch.nan, dtype=dtype)


def line_of(kernel: Any, text: str) -> int:
    """The number of the first line of a kernel's source that contains `text`."""
    lines, first = source_of(kernel)
    return first + next(i for i, line in enumerate(lines) if text in line)


HEAD = "import triton\nimport triton.language as tl\n"


def loaded(folder: Path, text: str, name: str = "kernel") -> Any:
    """The kernel of this name in a module of this text."""
    return load_kernel(KernelSource("", name, text, ()), folder)


def kernel_of(folder: Path, *statements: str) -> Any:
    """A kernel of these statements on a tile `x` of 16 elements at `x_ptr + offs`, with `y_ptr` as its output."""
    given = "    offs = tl.arange(0, 16)\n    x = tl.load(x_ptr + offs)\n"
    lines = "".join(f"    {s}\n" for s in statements)
    text = f"{HEAD}\nSCALE = tl.constexpr(3.0)\n\n\n@triton.jit\ndef kernel(x_ptr, y_ptr):\n{given}{lines}"
    return loaded(folder, text)


def elementwise(kernel: Any, x: torch.Tensor) -> torch.Tensor:
    """Run a kernel on one tile of 16 lanes and return what it stored."""
    y = torch.zeros(16, dtype=x.dtype)
    run(kernel, (1,), ("y_ptr",), {}, x_ptr=x, y_ptr=y)
    return y
