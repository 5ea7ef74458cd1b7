"""From the addresses of a load, store or atomic to elements of one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from checker.simulator.region import WINDOW, Region
from checker.simulator.values import Handle, Pointer, Refusal


@dataclass(slots=True)
class Access:
    """One load, store or atomic, resolved: element offsets of all lanes, which lanes are on, which of those are inside."""

    region: Region
    pointer: Pointer
    places: np.ndarray
    active: np.ndarray | None  # None: every lane
    good: np.ndarray | None  # None: every lane is active and inside
    chosen: np.ndarray  # element offsets of the good lanes, one-dimensional

    @property
    def bytes(self) -> int:
        """What crosses the border of the chip: the good lanes."""
        return self.chosen.size * self.region.item

    @property
    def outside(self) -> np.ndarray:
        """Active lanes outside the tensor."""
        if self.good is None:
            return np.zeros(self.places.shape, bool)
        return ~self.good if self.active is None else self.active & ~self.good


def resolve(regions: Sequence[Region], ptr: Handle, mask: Handle | None) -> Access:
    """Where the lanes of a load or store reach. Raises Refusal for no tensor or two, and for elements of another size."""
    addresses = np.asarray(ptr.data)
    active = None
    if mask is not None:
        active = np.broadcast_to(np.asarray(mask.data, bool), addresses.shape)
        if active.all():
            active = None
    region = _region(regions, ptr, addresses, active)
    if max(8, ptr.type.scalar.element_ty.primitive_bitwidth) != 8 * region.item:  # one bit takes a byte
        raise Refusal(f"{region.name} is read as elements of another size than its own, which is not simulated.")
    places = addresses - region.base
    if region.item > 1:
        places >>= region.item.bit_length() - 1
    if region.far:
        places = region.near(places)
    good = region.inside(places)
    if active is not None:
        good &= active
    elif good.all():
        return Access(region, ptr.pointer or Pointer(None, None), places, None, None, places.reshape(-1))
    return Access(region, ptr.pointer or Pointer(None, None), places, active, good, places[good])


def _region(regions: Sequence[Region], ptr: Handle, addresses: np.ndarray, active: np.ndarray | None) -> Region:
    if ptr.pointer is not None and ptr.pointer.region is not None:
        return ptr.pointer.region
    used = addresses.reshape(-1) if active is None else addresses[active]
    numbers = np.unique((used + (1 << (WINDOW - 1))) >> WINDOW) if used.size else np.array([1])
    if len(numbers) > 1:
        raise Refusal("one load or store reaches into two tensors, which is not simulated. Use one for each tensor.")
    if not 1 <= numbers[0] <= len(regions):
        raise Refusal("an address was made from a number, and points into no tensor.")
    return regions[int(numbers[0]) - 1]
