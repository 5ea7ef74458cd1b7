"""The base of all operations: results inherit undefined lanes and NaN origins from their operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from checker.simulator import numerics
from checker.simulator.errors import Unsupported
from checker.simulator.values import GIVEN, Handle, Pointer, isinf, isnan, merge_nan_origins, merge_taint


class LoadsAndStores(Protocol):
    """What operations need from memory. `stores` counts those of the launch so far."""

    stores: int

    def load(self, ptr: Handle, mask: Handle | None, other: Handle | None, element: np.dtype) -> Handle: ...

    def store(self, ptr: Handle, value: Handle, mask: Handle | None) -> None: ...

    def barrier(self) -> None: ...

    def dot(self) -> None: ...


class Operations:
    """Counts operations, and passes undefined lanes and NaN origins from operands to results.

    `nan_origin`, if given, numbers an operation, by its name, whose result holds a NaN in a lane where no operand does; if `infs`,
    also one whose result is inf where each operand is a finite number.
    """

    front = 0
    """The number of axes of `Handle.data` before the tile's own: 1 if programs run side by side."""

    memory: LoadsAndStores

    def __init__(self, nan_origin: Callable[[str], int] | None = None, infs: bool = False) -> None:
        self.nan_origin, self.infs = nan_origin, infs
        self.flops = 0
        self.lane_flops = 0

    def count_flops(self, data: Any, each: int) -> None:
        """`each` floating-point operations for each element of `data`."""
        self.lane_flops += each * np.size(data)

    def count_dot_flops(self, data: np.ndarray, each: int) -> None:
        """`each` for each matrix of `data`, the result of a `tl.dot`."""
        self.flops += each * math.prod(data.shape[:-2])

    def result(self, name: str, data: Any, type_: Any, operands: Sequence[Handle]) -> Handle:
        """The result of an elementwise operation."""
        handle = Handle(data, type_)
        taints = [h.taint for h in operands if h.taint is not None]
        if taints:
            handle.taint = merge_taint(taints, np.shape(data))
        if self.nan_origin is not None:
            self.track_nans(name, handle, operands)
        return handle

    def has_nans(self, handle: Handle) -> bool:
        """Whether there are NaNs, or infs that matter, and someone asks for their origins."""
        return self.nan_origin is not None and bool(self._odd(handle).any())

    def _odd(self, handle: Handle) -> np.ndarray:
        nan = isnan(handle.data)
        return nan | isinf(handle.data) if self.infs else nan

    def track_nans(self, name: str, handle: Handle, operands: Sequence[Handle]) -> None:
        """Record the origin of each NaN of `handle`; operands have its shape or are scalars.

        What is made of undefined lanes is another defect, what follows from a NaN or inf that the launch was given is none, and
        neither is the logarithm of 0, by definition -inf.
        """
        odd = self._odd(handle)
        if self.nan_origin is None or not odd.any():
            return
        inherited = (
            np.zeros(odd.shape, bool) if handle.taint is None else np.broadcast_to(handle.taint.lanes, odd.shape)
        )
        inf = isinf(handle.data)
        for operand in operands:
            inherited = inherited | isnan(operand.data) | (inf & isinf(operand.data))
            if operand.nan_origins is not None:
                inherited = inherited | (operand.nan_origins == GIVEN)
        if name in ("tl.log", "tl.log2"):
            inherited = inherited | inf
        origins = merge_nan_origins(operands, odd.shape)
        origins = np.zeros(odd.shape, np.int32) if origins is None else np.where(odd, origins, 0)
        new = odd & ~inherited
        if new.any():
            origins = np.where(new, self.nan_origin(name) + 1, origins)
        handle.nan_origins = origins if origins.any() else None

    def nans_of(self, arg: Handle, move: Callable[[np.ndarray], np.ndarray]) -> Handle:
        """The NaNs and infs of `arg` and their origins, in lanes that `move` rearranges or reduces to the largest."""
        size = np.where(isnan(arg.data), 2, 0) + isinf(arg.data)
        numbers = np.array([0.0, np.inf, np.nan], np.float32)[move(size)]
        if arg.nan_origins is None:
            return Handle(numbers, arg.type)
        own, from_outside = move(arg.nan_origins), move(arg.nan_origins == GIVEN)
        return Handle(numbers, arg.type, nan_origins=np.where(from_outside & (own <= 0), GIVEN, own))

    def moved(self, arg: Handle, move: Callable[[Any], Any]) -> Handle:
        """`arg` with its lanes rearranged."""
        pointer = arg.pointer
        if pointer is not None and pointer.terms is not None:
            pointer = Pointer(pointer.tensor, tuple(move(t) if np.ndim(t) else t for t in pointer.terms))
        taint = None if arg.taint is None else arg.taint.moved(move)
        origins = None if arg.nan_origins is None else move(arg.nan_origins)
        return Handle(move(arg.data), arg.type, taint, pointer, origins)

    def element(self, type_: Any) -> np.dtype:
        """NumPy's type for a type of the language; pointers are addresses. Raises Unsupported."""
        scalar = type_.scalar
        if scalar.is_ptr():
            return np.dtype(np.int64)
        if scalar.name not in numerics.ELEMENT:
            raise Unsupported(f"numbers of type {scalar.name} are not simulated.")
        return numerics.ELEMENT[scalar.name]
