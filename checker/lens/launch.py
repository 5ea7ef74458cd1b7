"""From ``kernel[grid](x, y, N, BLOCK_N=64)`` to a launch that the simulator can run, or a clear message why it cannot be one."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from checker.phrases import join, shape, short
from checker.puzzle import Launch
from checker.simulator.trace import MAX_TENSORS
from checker.simulator.triton_internals import (
    constant_value,
    constexpr_parameters,
    function_of,
    is_descriptor,
    unwrapped_tensor,
)
from checker.view.formats import size

_OPTIONS = """
num_warps num_stages num_ctas maxnreg enable_fp_fusion launch_cooperative_grid launch_pdl debug sanitize_overflow extern_libs
ir_override allow_fp8e4nv allowed_dot_input_precisions default_dot_input_precision arch backend_name ptx_options
instrumentation_mode cluster_dims waves_per_eu matrix_instr_nonkdim kpack schedule_hint warp_size
"""
OPTIONS = frozenset(_OPTIONS.split())
"""What a launch may pass to the compiler of one of Triton's backends. It does not change what a kernel computes."""
MOST_PROGRAMS = (2**31 - 1, 65_535, 65_535)
"""Along each axis, on every GPU of NVIDIA's."""
BYTES_PER_ELEMENT = 40
"""The simulator's own records of an element that is loaded and stored: who did it, when and in which line."""


class LaunchError(Exception):
    """A launch that cannot work, or a kernel that stopped. The message says where and what to do."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class KernelStopped(LaunchError):
    """A kernel that did not run to its end. `unsupported` is True where that is the simulator's fault."""

    def __init__(self, message: str, unsupported: bool) -> None:
        super().__init__(message)
        self.unsupported = unsupported


def launch_of(kernel: Any, grid: Any, given: Sequence[Any], named: Mapping[str, Any], outputs: Sequence[str]) -> Launch:
    """The launch that a call of `kernel` with this grid asks for. Raises LaunchError."""
    name, parameters = function_of(kernel).__name__, inspect.signature(function_of(kernel)).parameters
    if len(given) > len(parameters):
        raise LaunchError(f"{name} takes {len(parameters)} arguments, and the launch passes {len(given)}.")
    bound = dict(zip(parameters, given, strict=False))
    if twice := bound.keys() & named:
        raise LaunchError(
            f"{name} gets {join(sorted(twice))} twice: by position and by name, or from @triton.autotune."
        )
    if unknown := [n for n in named if n not in parameters and n not in OPTIONS]:
        raise LaunchError(f"{name} has no parameter {join(unknown)}. Its parameters are {join(parameters)}.")
    bound |= {n: value for n, value in named.items() if n in parameters}
    missing = [n for n, p in parameters.items() if n not in bound and p.default is inspect.Parameter.empty]
    if missing:
        raise LaunchError(
            f"{name} needs {join(missing)}, and the launch does not pass {'it' if len(missing) == 1 else 'them'}."
        )
    bound = {n: unwrapped_tensor(bound.get(n, p.default)) for n, p in parameters.items()}
    constants = constexpr_parameters(kernel)
    meta = {n: constant_value(value) for n, value in bound.items() if n in constants}
    arguments = {n: value for n, value in bound.items() if n not in constants}
    for parameter, value in arguments.items():
        _refuse_argument(name, parameter, value)
    _refuse_too_large(name, arguments)
    options = {n: value for n, value in named.items() if n not in parameters}
    return Launch(
        _grid(name, grid, bound), arguments, meta, tuple(n for n in arguments if {n, short(n)} & {*outputs}), options
    )


def tensors_of(values: Iterable[Any]) -> list[torch.Tensor]:
    """The tensors among the arguments of a launch, also those behind descriptors."""
    bases = (value.base if is_descriptor(value) else value for value in values)
    return [value for value in bases if isinstance(value, torch.Tensor)]


def _grid(name: str, grid: Any, bound: Mapping[str, Any]) -> tuple[int, ...]:
    example = f"{name}[(4,)](…)"
    if callable(grid):
        grid = grid(bound)
    if not isinstance(grid, tuple | list):
        raise LaunchError(f"The grid of {name} is {grid!r}. Write a tuple with one to three sizes: {example}.")
    if not 1 <= len(grid) <= 3:
        raise LaunchError(f"The grid of {name} has {len(grid)} sizes. It takes one to three: {example}.")
    for axis, (programs, most) in enumerate(zip(grid, MOST_PROGRAMS, strict=False)):
        if not isinstance(programs, int | np.integer):
            raise LaunchError(
                f"The grid of {name} has {programs!r} along axis {axis}, which is no whole number. "
                "For a size divided by a tile, use triton.cdiv."
            )
        if not 0 <= programs <= most:
            raise LaunchError(
                f"The grid of {name} has {programs:,} programs along axis {axis}; a GPU takes 0 to {most:,}."
            )
    return tuple(int(programs) for programs in grid)


def _refuse_argument(name: str, parameter: str, value: Any) -> None:
    if isinstance(value, np.ndarray):
        raise LaunchError(f"{parameter} of {name} is a NumPy array. Pass a tensor: torch.from_numpy({parameter}).")
    if isinstance(value, list | dict | set):
        raise LaunchError(
            f"{parameter} of {name} is a {type(value).__name__}. A kernel takes tensors, descriptors and numbers."
        )
    for tensor in tensors_of([value]):
        if tensor.device.type != "cpu":
            raise LaunchError(
                f"{parameter} of {name} is on {tensor.device}. The simulator works on CPU tensors: pass {parameter}.cpu()."
            )


def _refuse_too_large(name: str, arguments: Mapping[str, Any]) -> None:
    tensors = tensors_of(arguments.values())
    if len(tensors) > MAX_TENSORS:
        raise LaunchError(f"{name} takes {len(tensors)} tensors; the simulator follows at most {MAX_TENSORS}.")
    needed, there = sum(tensor.numel() for tensor in tensors) * BYTES_PER_ELEMENT, _memory()
    if needed > there:
        largest = max(tensors, key=torch.Tensor.numel)
        raise LaunchError(
            f"This launch of {name} needs {size(needed)} of memory to be simulated, and this machine has {size(there)} left. "
            f"Its largest tensor has {shape(largest.shape)}. Choose smaller sizes."
        )


def _memory() -> int:
    """Bytes of memory that are free here; where nothing tells, all that an address reaches."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 2**63
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), 2**63)
