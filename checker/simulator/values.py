"""The value of one Triton expression while it is simulated: numbers, and what is known about where they came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from checker.simulator.memory import Region


@dataclass(frozen=True, slots=True)
class Taint:
    """Lanes whose value is undefined, because a masked load gave no `other`; `sources` are those loads."""

    lanes: np.ndarray
    sources: frozenset[int]


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


class Refusal(Exception):
    """The simulator cannot do this faithfully. The message says what to do instead."""


class DeviceAssertion(Exception):
    """A `tl.device_assert` did not hold."""
