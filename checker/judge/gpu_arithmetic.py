"""References and errors of large cases, computed on the GPU that runs them: float64 takes seconds on a CPU, milliseconds there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import torch

from checker.puzzle import Case

_Result = TypeVar("_Result")
Move = Callable[[torch.Tensor], torch.Tensor]
"""Moves a tensor to the device that computes."""


def where_it_runs(case: Case, compute: Callable[[Move], _Result]) -> _Result:
    """Calls `compute` so that it runs on the GPU for a case that only a GPU runs, and on the CPU for others.

    If the GPU fails, because its memory is full or a notebook cell has broken this process's CUDA context, the CPU computes.
    """
    if case.devices != {"gpu"} or not torch.cuda.is_available():
        return compute(_stay)
    try:
        result = on_gpu(compute)
        torch.cuda.empty_cache()  # for the kernels, which run in other processes
    except RuntimeError:
        return compute(_stay)
    return result


def on_gpu(compute: Callable[[Move], _Result]) -> _Result:
    """Calls `compute` with every tensor that it makes on the GPU. Raises RuntimeError if the GPU cannot do it."""
    from torch.overrides import TorchFunctionMode
    from torch.utils._pytree import tree_map

    class EverythingOnGpu(TorchFunctionMode):
        """Moves every result to the GPU. Random numbers come from the CPU, so they are the same on every machine."""

        def __torch_function__(
            self,
            function: Callable[..., Any],
            types: object,
            args: Sequence[Any] = (),
            kwargs: Mapping[str, Any] | None = None,
        ) -> Any:
            try:
                return _moved(function(*args, **(kwargs or {})))
            except RuntimeError:  # a cached operand may be on the CPU
                args, kwargs = tree_map(_moved, (args, kwargs or {}))
                return _moved(function(*args, **kwargs))

    with EverythingOnGpu():
        return compute(_moved)


def _stay(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _moved(value: Any) -> Any:
    return value.cuda() if isinstance(value, torch.Tensor) and not value.is_cuda else value
