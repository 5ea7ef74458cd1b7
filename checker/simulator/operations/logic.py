"""Choosing, `&`, `|`, `^` and shifts: here an undefined lane need not reach the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from checker.simulator.operations.base import Operations
from checker.simulator.values import Handle, Pointer, isnan, merge_taint


class Logic(Operations):
    """`tl.where`, the bitwise operations, and shifts."""

    def create_select(self, condition: Handle, lhs: Handle, rhs: Handle) -> Handle:
        data = np.where(condition.data, lhs.data, rhs.data)
        pointer = None
        if lhs.pointer is not None and rhs.pointer is not None:
            same = lhs.pointer.region is rhs.pointer.region
            pointer = Pointer(lhs.pointer.region if same else None, None)
        handle = Handle(data, lhs.type, pointer=pointer)
        taints = [condition.taint]
        if lhs.taint is not None:
            taints.append(lhs.taint.moved(lambda lanes: lanes & condition.data))
        if rhs.taint is not None:
            taints.append(rhs.taint.moved(lambda lanes: lanes & ~condition.data))
        handle.taint = merge_taint(taints, np.shape(data))
        if self.born is not None and isnan(data).any():
            births = [0 if h.nans is None else h.nans for h in (lhs, rhs)]
            handle.nans = np.broadcast_to(np.where(condition.data, *births), np.shape(data))
        return handle

    def _bitwise(self, name: str, ufunc: Any, lhs: Handle, rhs: Handle) -> Handle:
        handle = Handle(ufunc(lhs.data, rhs.data), lhs.type)
        handle.taint = merge_taint((lhs.taint, rhs.taint), np.shape(handle.data))
        if handle.taint is not None and np.asarray(handle.data).dtype == bool and name != "xor":
            # False & anything is False and True | anything is True: an undefined lane cannot change that
            deciding = name == "or"
            decided = np.zeros(np.shape(handle.data), bool)
            for side in (lhs, rhs):
                known = ~side.taint.lanes if side.taint is not None else True
                decided = decided | ((np.asarray(side.data) == deciding) & known)
            handle.data = np.where(decided, deciding, handle.data)
            handle.taint = handle.taint.moved(lambda lanes: lanes & ~decided)
        return handle

    def create_and(self, lhs: Handle, rhs: Handle) -> Handle:
        return self._bitwise("and", np.bitwise_and, lhs, rhs)

    def create_or(self, lhs: Handle, rhs: Handle) -> Handle:
        return self._bitwise("or", np.bitwise_or, lhs, rhs)

    def create_xor(self, lhs: Handle, rhs: Handle) -> Handle:
        return self._bitwise("xor", np.bitwise_xor, lhs, rhs)

    def _shift(self, name: str, ufunc: Any, kind: str, lhs: Handle, rhs: Handle) -> Handle:
        """PTX shifts: by the width of the type or more gives 0, or copies of the sign."""
        own = np.asarray(lhs.data).dtype
        width = 8 * own.itemsize
        work = np.dtype(f"{kind}{own.itemsize}")
        value, by = np.asarray(lhs.data).view(work), np.asarray(rhs.data).astype(np.int64)
        far = (by < 0) | (by >= width)
        shifted = ufunc(value, np.where(far, width - 1, by).astype(work))
        if name != "ashr":
            shifted = np.where(far, work.type(0), shifted)
        return self.result(name, shifted.view(own), lhs.type, (lhs, rhs))

    def create_shl(self, lhs: Handle, rhs: Handle) -> Handle:
        return self._shift("shl", np.left_shift, "u", lhs, rhs)

    def create_lshr(self, lhs: Handle, rhs: Handle) -> Handle:
        return self._shift("lshr", np.right_shift, "u", lhs, rhs)

    def create_ashr(self, lhs: Handle, rhs: Handle) -> Handle:
        return self._shift("ashr", np.right_shift, "i", lhs, rhs)
