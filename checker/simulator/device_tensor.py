"""A tensor argument as the kernel sees it, at virtual addresses, with a record of who touched its elements."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np
import torch

from checker.simulator.errors import Unsupported
from checker.simulator.trace import TensorInfo

WINDOW = 44
"""Argument number i starts at address i << 44. Arguments are 16 TiB apart, so no stray lane of one looks like another."""

NOBODY, MANY = -1, -2
"""In place of a program's linear id, or of an interval of one program."""

_NUMPY_VIEW: dict[torch.dtype, tuple[torch.dtype, Any]] = {
    torch.bfloat16: (torch.int16, ml_dtypes.bfloat16),
    torch.float8_e5m2: (torch.uint8, ml_dtypes.float8_e5m2),
    torch.float8_e4m3fn: (torch.uint8, ml_dtypes.float8_e4m3fn),
}


class ShadowMemory:
    """In which interval of `races` each element of one storage was stored, loaded or updated; NOBODY or MANY where it is not one."""

    def __init__(self, elements: int, itemsize: int) -> None:
        self.elements, self.itemsize = elements, itemsize
        self.any_stored = False
        self.any_updated = False

    @cached_property
    def stored(self) -> np.ndarray:
        return np.full(self.elements, NOBODY, np.int64)

    @cached_property
    def loaded(self) -> np.ndarray:
        return np.full(self.elements, NOBODY, np.int64)

    @cached_property
    def updated(self) -> np.ndarray:
        """By atomics."""
        return np.full(self.elements, NOBODY, np.int64)


class DeviceTensor:
    """One tensor argument: its memory, its geometry, and which program stored its elements.

    An *offset* counts elements of memory from the tensor's first one; an *element* is a row-major number. Tensors of one storage
    share its entry in `shadows`. Raises Unsupported for types that are not simulated.
    """

    def __init__(
        self,
        name: str,
        number: int,
        tensor: torch.Tensor,
        shadows: dict[int, ShadowMemory],
    ) -> None:
        if tensor.device.type != "cpu":
            raise Unsupported(f"the simulator works on CPU tensors; {name} is on {tensor.device}.")
        tensor = tensor.detach()
        self.name = name
        self.base = number << WINDOW
        self.shape = tuple(tensor.shape)
        self.strides = tuple(tensor.stride())
        self.itemsize = tensor.element_size()
        self.count = tensor.numel()
        self.span = 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) if self.count else 0
        self.memory = _numpy(tensor.as_strided((self.span,), (1,)))
        self.info = TensorInfo(self.shape, self.strides, str(tensor.dtype).removeprefix("torch."))
        self.offset_of: np.ndarray | None = None
        self.element_at: np.ndarray | None = None
        if not tensor.is_contiguous():
            self.offset_of = self._offsets()
            self.element_at = np.full(self.span, -1, np.int64)  # -1 in gaps
            self.element_at[self.offset_of] = np.arange(self.count)
        storage = tensor.untyped_storage()
        self.storage_offset = tensor.storage_offset()
        own = ShadowMemory(storage.nbytes() // self.itemsize, self.itemsize)
        self.shadow = shadows.setdefault(storage.data_ptr(), own)
        if self.shadow.itemsize != self.itemsize:
            raise Unsupported(
                f"{name} shares its memory with a tensor of another element size, which is not simulated."
            )

    @cached_property
    def writer(self) -> np.ndarray:
        """The linear id of the last program that stored each element, or NOBODY."""
        return np.full(self.count, NOBODY, np.int32)

    @cached_property
    def writer_line(self) -> np.ndarray:
        """The line that last stored each element."""
        return np.zeros(self.count, np.int32)

    def _offsets(self) -> np.ndarray:
        offsets = np.zeros(1, np.int64)
        for n, stride in zip(self.shape, self.strides, strict=True):
            offsets = (offsets[:, None] + np.arange(n) * stride).reshape(-1)
        return offsets

    def viewed_as(self, dtype: np.dtype) -> np.ndarray:
        """The memory as elements of another `dtype` of the same size."""
        return self.memory if self.memory.dtype == dtype else self.memory.view(dtype)

    def elements(self, offsets: np.ndarray) -> np.ndarray:
        """The elements at `offsets`, which are inside the tensor."""
        return offsets if self.element_at is None else self.element_at[offsets]

    def inside(self, offsets: np.ndarray) -> np.ndarray:
        """Which offsets hit an element, rather than a gap, the surroundings or another tensor."""
        ok = (offsets >= 0) & (offsets < self.span)
        if self.element_at is not None and self.span:
            ok &= self.element_at[np.where(ok, offsets, 0)] >= 0
        return ok

    def index(self, offset: int) -> tuple[int, ...]:
        """The index that a kernel meant by an offset, also outside the tensor; the remainder goes to the last dimension."""
        out = [0] * len(self.shape)
        for dim in sorted(range(len(self.shape)), key=lambda d: -self.strides[d]):
            if self.strides[dim] > 0 and self.shape[dim] > 1:
                out[dim], offset = divmod(offset, self.strides[dim])
        if offset and self.shape:
            out[-1] += offset
        return tuple(int(i) for i in out)


def _numpy(flat: torch.Tensor) -> np.ndarray:
    if flat.dtype in _NUMPY_VIEW:
        bits, element = _NUMPY_VIEW[flat.dtype]
        return flat.view(bits).numpy().view(element)
    try:
        return flat.numpy()
    except TypeError as error:
        raise Unsupported(f"tensors of type {flat.dtype} are not simulated.") from error
