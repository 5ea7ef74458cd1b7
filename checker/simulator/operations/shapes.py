"""Operations that make, rearrange, combine and count lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import triton.language as tl

from checker.simulator.errors import Unsupported
from checker.simulator.operations.base import Operations
from checker.simulator.values import Handle, Pointer, Taint, merge_taint, spread


class Shapes(Operations):
    """Ranges, reshapes, broadcasts, joins, gathers and histograms."""

    def create_make_range(self, _: Any, start: int, stop: int) -> Handle:
        numbers = np.arange(start, stop, dtype=np.int32)
        return Handle(numbers.reshape((1,) * self.front + numbers.shape), tl.int32)

    def create_reshape(self, arg: Handle, shape: Sequence[int], can_reorder: bool = False) -> Handle:
        arg = self._reordered(arg) if can_reorder else arg
        handle = self.moved(arg, lambda a: np.reshape(a, (*np.shape(a)[: self.front], *shape)))
        if handle.pointer is not None:
            handle.pointer = Pointer(handle.pointer.tensor, None)
        return handle

    def create_expand_dims(self, arg: Handle, axis: int) -> Handle:
        before = (slice(None),) * (self.front + axis)
        return self.moved(arg, lambda a: a[(*before, None)])  # np.expand_dims takes ten times as long

    def create_broadcast(self, arg: Handle, shape: Sequence[int]) -> Handle:
        if np.shape(arg.data)[self.front :] == tuple(shape):  # the front end asks for this before most operations
            return arg
        return self.moved(arg, lambda a: spread(a, (*a.shape[: self.front], *shape)))

    def create_splat(self, type_: Any, arg: Handle) -> Handle:
        shape = tuple(int(n) for n in type_.shape)
        ones = (1,) * len(shape)

        def splat(a: Any) -> np.ndarray:
            a = np.asarray(a)
            front = (a.size,) * self.front
            return spread(a.reshape(front + ones), front + shape)

        taint = None if arg.taint is None else arg.taint.moved(splat)
        origins = None if arg.nan_origins is None else splat(arg.nan_origins)
        return Handle(splat(arg.data), arg.type, taint, arg.pointer, origins)

    def create_unsplat(self, arg: Handle) -> Handle:
        return self.moved(arg, lambda a: np.reshape(a, np.shape(a)[: self.front]))

    def create_trans(self, arg: Handle, order: Sequence[int]) -> Handle:
        axes = (*range(self.front), *(self.front + axis for axis in order))
        return self.moved(arg, lambda a: np.transpose(a, axes))

    def _combined(self, handles: Sequence[Handle], join: Callable[[list[Any]], Any]) -> Handle:
        taint = None
        if any(h.taint is not None for h in handles):
            lanes = [h.taint.lanes if h.taint is not None else np.zeros(np.shape(h.data), bool) for h in handles]
            taint = Taint(join(lanes), frozenset().union(*(h.taint.loads for h in handles if h.taint is not None)))
        data = join([h.data for h in handles])
        origins = None
        if any(h.nan_origins is not None for h in handles):
            origins = join(
                [np.zeros(np.shape(h.data), np.int32) if h.nan_origins is None else h.nan_origins for h in handles]
            )
        return Handle(data, handles[0].type, taint, nan_origins=origins)

    def create_cat(self, lhs: Handle, rhs: Handle) -> Handle:
        """The lanes of both; the compiler may put them in any order."""
        return self._reordered(self._combined((lhs, rhs), lambda parts: np.concatenate(parts, axis=self.front)))

    def _reordered(self, arg: Handle) -> Handle:
        """The same lanes in an order in which none keeps its place: the odd ones come first."""

        def reorder(a: np.ndarray) -> np.ndarray:
            lanes = np.reshape(a, (*a.shape[: self.front], -1))
            return np.concatenate([lanes[..., 1::2], lanes[..., ::2]], axis=-1).reshape(a.shape)

        return self.moved(arg, reorder)

    def create_join(self, lhs: Handle, rhs: Handle) -> Handle:
        return self._combined((lhs, rhs), lambda parts: np.stack(parts, axis=-1))

    def create_split(self, arg: Handle) -> tuple[Handle, Handle]:
        return self.moved(arg, lambda a: a[..., 0]), self.moved(arg, lambda a: a[..., 1])

    def create_gather(self, src: Handle, index: Handle, axis: int) -> Handle:
        where = np.asarray(index.data)
        outside = (where < 0) | (where >= src.data.shape[axis])
        if outside.any():
            raise Unsupported(f"tl.gather was given the index {where[outside][0]}, outside its source.")
        handle = self.moved(src, lambda a: np.take_along_axis(a, where.astype(np.int64), axis=axis))
        handle.pointer = None
        handle.taint = merge_taint((handle.taint, index.taint), where.shape)
        return handle

    def create_histogram(self, arg: Handle, bins: int, mask: Handle | None = None) -> Handle:
        values = np.asarray(arg.data)
        on = np.ones(values.shape, bool) if mask is None else np.asarray(mask.data, bool)
        counted = values[on & (values >= 0) & (values < bins)]
        data = np.bincount(counted.astype(np.int64), minlength=bins).astype(np.int32)
        taint = None
        if arg.taint is not None and (arg.taint.lanes & on).any():
            taint = Taint(np.ones(bins, bool), arg.taint.loads)
        return Handle(data, tl.int32, taint)
