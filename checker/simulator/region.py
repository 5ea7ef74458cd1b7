"""One tensor at virtual addresses: where its elements lie, and which program stored them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch

from checker.simulator.races import NOBODY, Shadow
from checker.simulator.trace import TensorInfo
from checker.simulator.values import Refusal

WINDOW = 44
"""Argument number i starts at address i << 44: 16 TiB apart, so that no stray lane of one looks like another."""

_NUMPY_VIEW: dict[torch.dtype, tuple[torch.dtype, Any]] = {
    torch.bfloat16: (torch.int16, ml_dtypes.bfloat16),
    torch.float8_e5m2: (torch.uint8, ml_dtypes.float8_e5m2),
    torch.float8_e4m3fn: (torch.uint8, ml_dtypes.float8_e4m3fn),
}


class Region:
    """One tensor argument: its memory, its geometry, and what happened to it."""

    def __init__(
        self, name: str, number: int, tensor: torch.Tensor, shadows: dict[int, Shadow], far: tuple[int, ...] = ()
    ) -> None:
        tensor = tensor.detach()
        self.name = name
        self.base = number << WINDOW
        self.shape = tuple(tensor.shape)
        self.strides = tuple(tensor.stride())
        self.far = far  # the strides that the kernel was told, where they are not the real ones
        self.item = tensor.element_size()
        self.count = tensor.numel()
        self.span = 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) if self.count else 0
        self.flat = _numpy(tensor.as_strided((self.span,), (1,)))
        self.info = TensorInfo(self.shape, self.strides, str(tensor.dtype).removeprefix("torch."))
        self.dense = tensor.is_contiguous()
        self.logical = None if self.dense else self._table()
        self.writer = np.full(self.count, NOBODY, np.int64)
        self.writer_line = np.zeros(self.count, np.int32)
        storage = tensor.untyped_storage()
        self.offset = tensor.storage_offset()
        self.storage_elements = storage.nbytes() // self.item
        self.shadow = shadows.setdefault(storage.data_ptr(), Shadow(self.storage_elements, self.item))
        if self.shadow.item != self.item:
            raise Refusal(f"{name} shares its memory with a tensor of another element size, which is not simulated.")

    def _table(self) -> np.ndarray:
        """Row-major element number for every place in the span, -1 in gaps."""
        places = np.zeros(1, np.int64)
        for n, stride in zip(self.shape, self.strides, strict=True):
            places = (places[:, None] + np.arange(n) * stride).reshape(-1)
        table = np.full(self.span, -1, np.int64)
        table[places] = np.arange(self.count)
        return table

    def elements(self, places: np.ndarray) -> np.ndarray:
        """Row-major element numbers for element offsets that are inside the tensor."""
        return places if self.logical is None else self.logical[places]

    def inside(self, places: np.ndarray) -> np.ndarray:
        """Which element offsets hit an element of the tensor, and not a gap, its surroundings or another tensor."""
        ok = (places >= 0) & (places < self.span)
        if self.logical is not None and self.span:
            ok &= self.logical[np.where(ok, places, 0)] >= 0
        return ok

    def near(self, places: np.ndarray) -> np.ndarray:
        """Where the elements really lie that far offsets mean; -1 for an offset that is no element's."""
        rest, found, ok = places, np.zeros_like(places), places >= 0
        for dim in sorted(range(len(self.shape)), key=lambda d: -self.far[d]):
            if self.shape[dim] > 1:
                steps, rest = np.divmod(rest, self.far[dim])
                ok = ok & (steps < self.shape[dim])
                found = found + steps * self.strides[dim]
        return np.where(ok & (rest == 0), found, -1)

    def index(self, place: int) -> tuple[int, ...]:
        """The index a kernel meant by an element offset, also outside the tensor: row first, then what is left."""
        out = [0] * len(self.shape)
        for dim in sorted(range(len(self.shape)), key=lambda d: -self.strides[d]):
            if self.strides[dim] > 0 and self.shape[dim] > 1:
                out[dim], place = divmod(place, self.strides[dim])
        if place and self.shape:
            out[-1] += place
        return tuple(int(i) for i in out)


def _numpy(flat: torch.Tensor) -> np.ndarray:
    if flat.dtype in _NUMPY_VIEW:
        bits, element = _NUMPY_VIEW[flat.dtype]
        return flat.view(bits).numpy().view(element)
    try:
        return flat.numpy()
    except TypeError as error:
        raise Refusal(f"tensors of type {flat.dtype} are not simulated.") from error
