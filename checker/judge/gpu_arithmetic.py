"""The judge's own arithmetic for large cases, on the GPU that runs them: float64 takes seconds on a processor, and milliseconds there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from checker.puzzle import Case

_Result = TypeVar("_Result")
_CPU = torch.device("cpu")


def where_it_runs(case: Case, compute: Callable[[torch.device], _Result]) -> _Result:
    """`compute` with the device that its tensors should move to: the GPU for a case that only a GPU runs.

    If that fails there, because its memory is full or a cell of a notebook has broken this process's use of it, the CPU computes.
    """
    if case.devices != {"gpu"} or not torch.cuda.is_available():
        return compute(_CPU)
    try:
        result = on_gpu(compute)
        torch.cuda.empty_cache()  # for the kernels, which run in other processes
    except RuntimeError:
        return compute(_CPU)
    return result


def on_gpu(compute: Callable[[torch.device], _Result]) -> _Result:
    """`compute` with every tensor that it makes on the GPU. Raises RuntimeError if the GPU cannot do it."""
    with _EverythingOnGpu():
        return compute(torch.device("cuda"))


class _EverythingOnGpu(TorchFunctionMode):
    """Results of `torch.arange` and of generators move to the GPU; so the random numbers are the same on every machine."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: object,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            return _moved(function(*args, **(kwargs or {})))
        except RuntimeError:  # an operand may be on the CPU, where it was remembered
            args, kwargs = tree_map(_moved, (args, kwargs or {}))
            return _moved(function(*args, **kwargs))


def _moved(value: Any) -> Any:
    return value.cuda() if isinstance(value, torch.Tensor) and not value.is_cuda else value
