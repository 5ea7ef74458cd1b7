"""The value of one Triton expression: numbers, and where they came from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checker.simulator import numerics
from checker.simulator.device_tensor import DeviceTensor
from checker.simulator.trace import Guard


@dataclass(frozen=True, slots=True)
class Taint:
    """Lanes that are undefined because a masked load had no `other`; `loads` are the numbers of those loads."""

    lanes: np.ndarray
    loads: frozenset[int]

    def moved(self, move: Callable[[np.ndarray], Any]) -> Taint:
        """The taint of lanes that were rearranged or reduced."""
        return Taint(move(self.lanes), self.loads)


_SMALL = 4096

GIVEN = -1
"""The origin of a NaN or inf that no operation made: a tensor or the bits of an integer held it. It explains what follows from it."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """The tensor that an address points into, and the element offsets added to it, each a scalar or of the address' shape."""

    tensor: DeviceTensor | None
    terms: tuple[np.ndarray, ...] | None
    guard: Guard = "mask"


@dataclass(slots=True, eq=False)
class Handle:
    """What Triton's front end passes to the builder and gets back.

    `data` is a NumPy array or scalar: pointers are int64 virtual byte addresses, bf16 is `ml_dtypes.bfloat16`. `type` is
    the scalar Triton type. `nan_origins`, if it is kept, has the number of the operation that made each lane's NaN or inf, plus one;
    0 for lanes without one, and GIVEN for what the launch was given.
    """

    data: Any
    type: Any
    taint: Taint | None = None
    pointer: Pointer | None = None
    nan_origins: np.ndarray | None = None
    twin: Any = None
    """What `twins` keeps beside an integer, where it is asked for."""


def spread(data: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """`np.broadcast_to(data, shape)`; copying a small result costs a fifth of making the view."""
    if data.shape == shape:
        return data
    if math.prod(shape) > _SMALL:
        return np.broadcast_to(data, shape)
    out = np.empty(shape, data.dtype)
    out[...] = data
    return out


def merge_taint(taints: Iterable[Taint | None], shape: tuple[int, ...]) -> Taint | None:
    """A lane computed from an undefined lane is undefined. Lanes are broadcast to `shape`."""
    present = [taint for taint in taints if taint is not None]
    if not present:
        return None
    lanes = np.zeros(shape, bool)
    for taint in present:
        lanes = lanes | taint.lanes
    return Taint(lanes, frozenset().union(*(taint.loads for taint in present)))


def merge_nan_origins(handles: Sequence[Handle], shape: tuple[int, ...]) -> np.ndarray | None:
    """For each lane the origin from the first operand that has one."""
    present = [h.nan_origins for h in handles if h.nan_origins is not None]
    if not present:
        return None
    out = np.zeros(shape, np.int32)
    for origins in present:
        out = np.where(out == 0, origins, out)
    return out


def given(data: Any) -> np.ndarray | None:
    """The origins of numbers that a launch was given, if they hold NaN or inf. In an input, -inf is a mask like any other."""
    odd = isnan(data) | (isinf(data) & (np.asarray(data) > 0))
    return np.where(odd, GIVEN, 0).astype(np.int32) if odd.any() else None


def isinf(data: Any) -> np.ndarray:
    """Which lanes hold inf or -inf; no lane of integers does."""
    data = np.asarray(data)
    return np.isinf(data) if numerics.is_float(data.dtype) else np.zeros(data.shape, bool)


def isnan(data: Any) -> np.ndarray:
    """Which lanes hold NaN; no lane of integers does."""
    data = np.asarray(data)
    return np.isnan(data) if numerics.is_float(data.dtype) else np.zeros(data.shape, bool)
