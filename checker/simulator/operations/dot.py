"""`tl.dot`: the product, its cost, and the lanes that undefined values and NaN reach."""

from __future__ import annotations

from typing import Any

import numpy as np

from checker.simulator import numerics
from checker.simulator.operations.base import Operations
from checker.simulator.values import Handle, merge_taint


class Dot(Operations):
    """Matrix products."""

    def create_dot(self, a: Handle, b: Handle, c: Handle, precision: Any, *_: Any) -> Handle:
        name = getattr(precision, "name", str(precision)).lower()
        data = numerics.dot(np.asarray(a.data), np.asarray(b.data), np.asarray(c.data), name, self.element(c.type))
        m, k, n = a.data.shape[-2], a.data.shape[-1], b.data.shape[-1]
        self.count_dot_flops(data, 2 * m * k * n)
        self.memory.dot()
        handle = Handle(data, c.type)
        rows = None if a.taint is None else a.taint.moved(lambda lanes: lanes.any(-1, keepdims=True))
        columns = None if b.taint is None else b.taint.moved(lambda lanes: lanes.any(-2, keepdims=True))
        handle.taint = merge_taint((rows, columns, c.taint), data.shape)
        if self.nan_origin is not None:
            row_nans = self.nans_of(a, lambda lanes: np.broadcast_to(lanes.max(-1, keepdims=True), data.shape))
            column_nans = self.nans_of(b, lambda lanes: np.broadcast_to(lanes.max(-2, keepdims=True), data.shape))
            self.track_nans("tl.dot", handle, (row_nans, column_nans, c))
        return handle
