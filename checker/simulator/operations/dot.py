"""`tl.dot`: products of tiles, with what they cost and which lanes undefined ones reach."""

from __future__ import annotations

from typing import Any

import numpy as np

from checker.simulator import numerics
from checker.simulator.operations.base import Operations
from checker.simulator.values import Handle, isnan, merge_taint


class Products(Operations):
    """Matrix products."""

    def create_dot(self, a: Handle, b: Handle, c: Handle, precision: Any, *_: Any) -> Handle:
        name = getattr(precision, "name", str(precision)).lower()
        data = numerics.dot(np.asarray(a.data), np.asarray(b.data), np.asarray(c.data), name, self.element(c.type))
        m, k, n = a.data.shape[-2], a.data.shape[-1], b.data.shape[-1]
        flops = 2 * m * k * n * int(np.prod(data.shape[:-2], dtype=np.int64))
        self.flops += flops
        self.memory.record_dot()
        handle = Handle(data, c.type)
        rows = None if a.taint is None else a.taint.moved(lambda lanes: lanes.any(-1, keepdims=True))
        columns = None if b.taint is None else b.taint.moved(lambda lanes: lanes.any(-2, keepdims=True))
        handle.taint = merge_taint((rows, columns, c.taint), data.shape)
        if self.born is not None:
            self.note_nan("tl.dot", handle, (self._spread(a, -1, data.shape), self._spread(b, -2, data.shape), c))
        return handle

    @staticmethod
    def _spread(arg: Handle, axis: int, shape: tuple[int, ...]) -> Handle:
        """`arg` reduced to where a sum along `axis` would be NaN because of it, in the shape of the result."""
        nan = isnan(arg.data).any(axis, keepdims=True)
        births = None if arg.nans is None else np.broadcast_to(arg.nans.max(axis, keepdims=True), shape)
        return Handle(np.broadcast_to(np.where(nan, np.float32(np.nan), np.float32(0)), shape), arg.type, nans=births)
