"""`tl.reduce` and `tl.associative_scan`: known combinations at NumPy's speed, others by calling the combining function.

A combining function is called on whole slices, log2(n) times. As on a GPU, a scan keeps the order of elements and relies on
associativity; a reduction pairs elements half a tile apart, as threads do, so the order of operands must not matter either. 16-bit sums
round at every level of the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
import triton.language as tl

from checker.simulator import numerics
from checker.simulator.operations.elementwise import Elementwise
from checker.simulator.triton_internals import Call, constant_value, handle_of, is_tensor, library_reduction, tensor_of
from checker.simulator.values import Handle


class Reductions:
    """Replaces `reduce` and `associative_scan` of Triton's language while a kernel runs.

    `operations` counts the work; `device` calls a jitted function.
    """

    def __init__(self, operations: Elementwise, device: Call) -> None:
        self.operations, self.device = operations, device

    def _count(self, data: np.ndarray) -> None:
        """One FLOP per element; a combining function counts its own."""
        if numerics.is_float(data.dtype):
            self.operations.count_flops(data, 1)

    def _tensors(self, handles: list[Handle], many: bool) -> Any:
        tensors = [tensor_of(handle, self.operations.front) for handle in handles]
        return tuple(tensors) if many else tensors[0]

    # reduce -----------------------------------------------------------------------------------------------------------

    def reduce(self, input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False, **_: Any) -> Any:
        handles, many = _handles(input)
        axis, keep = constant_value(axis), bool(constant_value(keep_dims))
        front = self.operations.front
        shape = np.shape(handles[0].data)[front:]
        if axis is None:
            handles = [self.operations.moved(h, lambda a: np.reshape(a, (*np.shape(a)[:front], -1))) for h in handles]
            rest: tuple[int, ...] = (1,) * len(shape)
            axis = front
        else:
            axis = _axis_of("reduction", axis, len(shape))
            rest = (*shape[:axis], 1, *shape[axis + 1 :])
            axis += front
        kind = library_reduction(combine_fn)
        if len(handles) == 1 and kind is not None:
            results = [self._library_reduce(kind, handles[0], axis)]
        else:
            results = self._reduce_by_calls(handles, axis, combine_fn)
        if keep:
            results = [
                self.operations.moved(h, lambda a: np.reshape(a, (*np.shape(a)[:front], *rest))) for h in results
            ]
        return self._tensors(results, many)

    def _library_reduce(self, kind: str, arg: Handle, axis: int) -> Handle:
        data = np.asarray(arg.data)
        self._count(data)
        # in max and min a NaN loses against any number, as on the GPU
        extreme = np.fmax if kind == "max" else np.fmin
        out = _sum(data, axis) if kind == "sum" else extreme.reduce(data, axis=axis)
        handle = Handle(out, arg.type)
        if arg.taint is not None:
            taint = arg.taint.moved(lambda lanes: np.asarray(lanes.any(axis)))
            handle.taint = taint if taint.lanes.any() else None
        if self.operations.nan_origin is not None:
            nans = self.operations.nans_of(arg, lambda lanes: np.asarray(lanes.max(axis)))
            self.operations.track_nans(f"tl.{kind}", handle, [nans])
        return handle

    def _reduce_by_calls(self, handles: list[Handle], axis: int, combine: Any) -> list[Handle]:
        every = (slice(None),) * axis
        while (half := np.shape(handles[0].data)[axis] // 2) > 0:
            first, second = itemgetter((*every, slice(half))), itemgetter((*every, slice(half, None)))
            left = [self.operations.moved(h, first) for h in handles]
            right = [self.operations.moved(h, second) for h in handles]
            handles = self._combine(combine, left, right)
        return [self.operations.moved(h, lambda a: np.squeeze(a, axis)) for h in handles]

    def _combine(self, combine: Any, left: Sequence[Handle], right: Sequence[Handle]) -> list[Handle]:
        operands = [tensor_of(handle, self.operations.front) for handle in (*left, *right)]
        result = self.device(combine, *operands)
        values = result if isinstance(result, (tuple, tl.tuple)) else (result,)
        front = self.operations.front
        out = []
        for new, old in zip(map(handle_of, values), left, strict=True):
            data = np.broadcast_to(new.data, (*np.shape(new.data)[:front], *np.shape(old.data)[front:]))
            out.append(Handle(data, old.type, new.taint, None, new.nan_origins))
        return out

    # scan -------------------------------------------------------------------------------------------------------------

    def scan(self, input: Any, axis: Any, combine_fn: Any, reverse: Any = False, **_: Any) -> Any:
        handles, many = _handles(input)
        front = self.operations.front
        axis = front + _axis_of("scan", constant_value(axis), np.ndim(handles[0].data) - front)
        backwards = bool(constant_value(reverse))
        if backwards:
            handles = [self.operations.moved(h, lambda a: np.flip(a, axis)) for h in handles]
        if len(handles) == 1 and library_reduction(combine_fn) == "sum":
            results = [self._cumsum(handles[0], axis)]
        else:
            results = self._scan_by_calls(handles, axis, combine_fn)
        if backwards:
            results = [self.operations.moved(h, lambda a: np.flip(a, axis)) for h in results]
        return self._tensors(results, many)

    def _cumsum(self, arg: Handle, axis: int) -> Handle:
        data = np.asarray(arg.data)
        self._count(data)
        handle = Handle(_running_sum(data, axis), arg.type)
        if arg.taint is not None:
            handle.taint = arg.taint.moved(lambda lanes: np.logical_or.accumulate(lanes, axis=axis))
        if self.operations.nan_origin is not None:
            nans = self.operations.nans_of(arg, lambda lanes: np.maximum.accumulate(lanes, axis=axis))
            self.operations.track_nans("tl.cumsum", handle, [nans])
        return handle

    def _scan_by_calls(self, handles: list[Handle], axis: int, combine: Any) -> list[Handle]:
        n = np.shape(handles[0].data)[axis]
        step = 1
        while step < n:
            order = np.maximum(np.arange(n) - step, 0)
            left = [self.operations.moved(h, partial(np.take, indices=order, axis=axis)) for h in handles]
            combined = self._combine(combine, left, handles)
            ready = np.arange(n).reshape([-1 if d == axis else 1 for d in range(np.ndim(handles[0].data))]) >= step
            keep = Handle(np.broadcast_to(ready, np.shape(handles[0].data)), tl.int1)
            handles = [self.operations.create_select(keep, c, h) for c, h in zip(combined, handles, strict=True)]
            step *= 2
        return handles


def _handles(input: Any) -> tuple[list[Handle], bool]:
    """The handles of one tensor or of several, and whether there are several."""
    if is_tensor(input):
        return [handle_of(input)], False
    return [handle_of(tensor) for tensor in input], True


def _axis_of(what: str, axis: Any, rank: int) -> int:
    """The axis counted from the first. Raises ValueError if a tile of `rank` dimensions does not have it."""
    axis = int(axis)
    if not -rank <= axis < rank:
        raise ValueError(f"a {what} along axis {axis} of a tile of {rank} dimensions")
    return axis % rank


def _running_sum(data: np.ndarray, axis: int) -> np.ndarray:
    """Running sums in the element type. Floats are added in pairs, then pairs of pairs, as threads and warps do."""
    if not numerics.is_float(data.dtype):
        return np.add.accumulate(data, axis=axis, dtype=data.dtype)
    parts, step = np.moveaxis(data, axis, -1).copy(), 1
    while step < parts.shape[-1]:
        parts[..., step:] = parts[..., step:] + parts[..., :-step]
        step *= 2
    return np.moveaxis(parts, -1, axis)


def _sum(data: np.ndarray, axis: int) -> Any:
    """Sum in the element type; for 16-bit floats the axis is halved repeatedly, with a rounding each time.

    The order of additions does not depend on NumPy's memory layout.
    """
    if not numerics.is_float(data.dtype) or data.dtype.itemsize >= 4:
        return np.add.reduce(np.ascontiguousarray(data), axis=axis, dtype=data.dtype)
    parts = np.moveaxis(data, axis, -1)
    while parts.shape[-1] > 1:
        odd = parts[..., -1:] if parts.shape[-1] % 2 else None
        even = parts[..., : parts.shape[-1] // 2 * 2]
        parts = even[..., 0::2] + even[..., 1::2]
        if odd is not None:
            parts = np.concatenate([parts, odd], axis=-1)
    return parts[..., 0]
