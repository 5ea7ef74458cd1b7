"""What every operation of the builder shares: its result, with what the operands were known for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from checker.simulator import numerics
from checker.simulator.values import Handle, Pointer, Refusal, isnan, merge_nans, merge_taint

if TYPE_CHECKING:
    from checker.simulator.memory import Memory


class Operations:
    """The ground that the kinds of operations stand on.

    `memory` serves loads, stores and atomics. `born`, where given, is called with the operation's name when its result holds
    a NaN in a lane where no operand did, and returns a number for that birth.
    """

    types: Any = None
    """`triton.language`, set by the seam."""

    def __init__(self, memory: Memory, born: Callable[[str], int] | None = None) -> None:
        self.memory = memory
        self.born = born
        self.flops = 0
        self.lane_flops = 0

    def result(self, name: str, data: Any, type_: Any, operands: Sequence[Handle]) -> Handle:
        """The result of an elementwise operation, with what its operands were known for."""
        handle = Handle(data, type_)
        handle.taint = merge_taint((h.taint for h in operands), np.shape(data))
        if self.born is not None:
            self.note_nan(name, handle, operands)
        return handle

    def note_nan(self, name: str, handle: Handle, operands: Sequence[Handle]) -> None:
        """Remember where each NaN of `handle` was born; operands have its shape or are scalars."""
        nan = isnan(handle.data)
        if self.born is None or not nan.any():
            return
        known = np.zeros(nan.shape, bool)
        for operand in operands:
            known = known | isnan(operand.data)
        births = merge_nans(operands, nan.shape)
        births = np.zeros(nan.shape, np.int32) if births is None else np.where(nan, births, 0)
        new = nan & ~known
        if new.any():
            births = np.where(new, self.born(name) + 1, births)
        handle.nans = births if births.any() else None

    def moved(self, arg: Handle, move: Callable[[Any], Any]) -> Handle:
        """`arg` with its lanes rearranged."""
        pointer = arg.pointer
        if pointer is not None and pointer.terms is not None:
            pointer = Pointer(pointer.region, tuple(move(t) if np.ndim(t) else t for t in pointer.terms))
        taint = None if arg.taint is None else arg.taint.moved(move)
        nans = None if arg.nans is None else move(arg.nans)
        return Handle(move(arg.data), arg.type, taint, pointer, nans)

    def element(self, type_: Any) -> np.dtype:
        scalar = type_.scalar
        if scalar.is_ptr():
            return np.dtype(np.int64)
        if scalar.name not in numerics.ELEMENT:
            raise Refusal(f"numbers of type {scalar.name} are not simulated.")
        return numerics.ELEMENT[scalar.name]
