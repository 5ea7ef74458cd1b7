"""From the addresses of a load, store or atomic to elements of one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from checker.simulator.device_tensor import WINDOW, DeviceTensor
from checker.simulator.errors import Unsupported
from checker.simulator.values import Handle, Pointer


@dataclass(slots=True)
class Access:
    """One load, store or atomic: where its lanes point, and which of them are active and valid."""

    tensor: DeviceTensor
    pointer: Pointer
    offsets: np.ndarray
    """The offset of each lane, in elements from the tensor's first one."""
    active: np.ndarray | None
    """Lanes that the mask lets through; None for all."""
    valid: np.ndarray | None
    """Active lanes inside the tensor; None for all."""
    valid_offsets: np.ndarray
    """The offsets of the valid lanes, one-dimensional."""
    masked: bool = False
    """Whether there is a mask at all, even one that lets every lane through."""
    leaves_undefined: bool = False
    """A load whose mask switches lanes off and that has no `other`."""
    other: np.ndarray | None = None
    """What a load puts into the lanes that its mask switches off; None without an `other`."""

    @property
    def bytes(self) -> int:
        """Bytes that cross the border of the chip: those of the valid lanes."""
        return self.valid_offsets.size * self.tensor.itemsize

    @property
    def is_stray(self) -> bool:
        """Whether an active lane is outside the tensor."""
        return self.valid is not None and (self.active is None or bool((self.active & ~self.valid).any()))

    @property
    def outside(self) -> np.ndarray:
        """Active lanes outside the tensor."""
        if self.valid is None:
            return np.zeros(self.offsets.shape, bool)
        return ~self.valid if self.active is None else self.active & ~self.valid

    def valid_lanes(self, lanes: np.ndarray) -> np.ndarray:
        """The values of the valid lanes, one-dimensional. `lanes` is broadcast to all lanes first."""
        lanes = np.broadcast_to(lanes, self.offsets.shape)
        return lanes.reshape(-1) if self.valid is None else lanes[self.valid]


def resolve(tensors: Sequence[DeviceTensor], ptr: Handle, mask: Handle | None) -> Access:
    """Find the tensor and the elements of a load or store. Raises Unsupported for no tensor, two, or elements of another size."""
    addresses = np.asarray(ptr.data)
    active = None
    if mask is not None:
        active = np.broadcast_to(np.asarray(mask.data, bool), addresses.shape)
        if active.all():
            active = None
    tensor = _tensor(tensors, ptr, addresses, active)
    if max(8, ptr.type.scalar.element_ty.primitive_bitwidth) != 8 * tensor.itemsize:  # one bit takes a byte
        raise Unsupported(f"{tensor.name} is read as elements of another size than its own, which is not simulated.")
    pointer = ptr.pointer or Pointer(None, None)
    offsets = addresses - tensor.base
    if tensor.itemsize > 1:
        offsets >>= tensor.itemsize.bit_length() - 1
    valid = tensor.inside(offsets)
    if active is not None:
        valid &= active
    elif valid.all():
        return Access(tensor, pointer, offsets, None, None, offsets.reshape(-1), mask is not None)
    return Access(tensor, pointer, offsets, active, valid, offsets[valid], mask is not None)


def _tensor(
    tensors: Sequence[DeviceTensor], ptr: Handle, addresses: np.ndarray, active: np.ndarray | None
) -> DeviceTensor:
    if ptr.pointer is not None and ptr.pointer.tensor is not None:
        return ptr.pointer.tensor
    used = addresses.reshape(-1) if active is None else addresses[active]
    numbers = np.unique((used + (1 << (WINDOW - 1))) >> WINDOW) if used.size else np.array([1])
    if len(numbers) > 1:
        raise Unsupported(
            "one load or store reaches into two tensors, which is not simulated. Use one for each tensor."
        )
    if not 1 <= numbers[0] <= len(tensors):
        raise Unsupported("an address was made from a number, and points into no tensor.")
    return tensors[int(numbers[0]) - 1]
