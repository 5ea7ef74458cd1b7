"""The value of one Triton expression while it is simulated: numbers, and what is known about where they came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from checker.simulator import numerics

if TYPE_CHECKING:
    from checker.simulator.region import Region


@dataclass(frozen=True, slots=True)
class Taint:
    """Lanes whose value is undefined, because a masked load gave no `other`; `sources` are those loads."""

    lanes: np.ndarray
    sources: frozenset[int]

    def moved(self, move: Callable[[np.ndarray], Any]) -> Taint:
        """The same for lanes that were rearranged, or reduced."""
        return Taint(move(self.lanes), self.sources)


@dataclass(frozen=True, slots=True)
class Pointer:
    """Which tensor an address was made from, and the element offsets added to it, each a scalar or of the address' shape."""

    region: Region | None
    terms: tuple[np.ndarray, ...] | None


class Handle:
    """What Triton's front end passes to the builder and gets back.

    `data` is a NumPy array or scalar: pointers are int64 virtual byte addresses, bf16 is `ml_dtypes.bfloat16`. `type` is
    the scalar Triton type. `nans` says, where it is kept, in which operation the NaN of a lane was born: its number plus one, or 0.
    """

    __slots__ = ("data", "nans", "pointer", "taint", "type")

    def __init__(
        self,
        data: Any,
        type: Any,
        taint: Taint | None = None,
        pointer: Pointer | None = None,
        nans: np.ndarray | None = None,
    ) -> None:
        self.data = data
        self.type = type
        self.taint = taint
        self.pointer = pointer
        self.nans = nans


def merge_taint(taints: Iterable[Taint | None], shape: tuple[int, ...]) -> Taint | None:
    """A lane computed from an undefined lane is undefined. Lanes are broadcast to `shape`."""
    known = [taint for taint in taints if taint is not None]
    if not known:
        return None
    lanes = np.zeros(shape, bool)
    for taint in known:
        lanes = lanes | taint.lanes
    return Taint(lanes, frozenset().union(*(taint.sources for taint in known)))


def merge_nans(handles: Sequence[Handle], shape: tuple[int, ...]) -> np.ndarray | None:
    """For each lane the birth of the first operand that knows one."""
    known = [h.nans for h in handles if h.nans is not None]
    if not known:
        return None
    out = np.zeros(shape, np.int32)
    for births in known:
        out = np.where(out == 0, births, out)
    return out


def isnan(data: Any) -> np.ndarray:
    data = np.asarray(data)
    return np.isnan(data) if numerics.is_float(data.dtype) else np.zeros(data.shape, bool)


class Refusal(Exception):
    """The simulator cannot do this faithfully. The message says what to do instead."""


class DeviceAssertion(Exception):
    """A `tl.device_assert` did not hold."""
