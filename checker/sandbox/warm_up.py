"""What a cold compiler and simulator spend their first second on, done once in the worker before any job is forked."""

from __future__ import annotations

import contextlib
import gc
import os
from pathlib import Path

import torch
import triton
import triton.backends.nvidia.compiler
import triton.language as tl

import checker.sandbox.job_main  # noqa: F401  imported before any fork, so that every job has it at once
from checker.compiler import CompileRequest, compile_kernel
from checker.puzzle import Launch
from checker.sandbox import protocol, tasks
from checker.simulator import simulate
from checker.simulator.trace import SimulateOptions


@triton.jit
def _trial_kernel(x_ptr, y_ptr, N, BLOCK_N: tl.constexpr):  # type: ignore[no-untyped-def]
    offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
    tl.store(y_ptr + offs_n, tl.exp(x - tl.max(x, axis=0)), mask=mask)


def warm_up(folder: Path) -> None:
    """Import, compile and simulate once. Leaves one thread (a fork is safe) and no trace of CUDA. `folder` takes the cache."""
    torch.set_num_threads(1)
    for kind in (tasks.Task, tasks.AskedToCompile, tasks.Launches):
        protocol.decoder(kind)
    os.environ["TRITON_CACHE_DIR"] = str(folder / "warm")
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "N": "i32"}
    launch = Launch((1,), {"x_ptr": torch.zeros(5), "y_ptr": torch.zeros(5), "N": 5}, {"BLOCK_N": 8}, ("y_ptr",))
    # A trial that fails makes the first job slower, no more: what is wrong is said by the job that meets it.
    with contextlib.suppress(Exception):
        compile_kernel(_trial_kernel, CompileRequest(80, signature, {"BLOCK_N": 128}, {"num_warps": 4}))
    with contextlib.suppress(Exception):
        simulate(_trial_kernel, launch, SimulateOptions())
    gc.collect()
    gc.freeze()
