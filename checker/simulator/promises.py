"""Checks what a kernel promises the compiler: `tl.multiple_of`, `tl.max_contiguous`, `tl.max_constancy`, `tl.assume`.

The compiler believes every promise and widens loads accordingly. Promises change no value here, so each is compared with the
values at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checker.simulator.triton_internals import constant_value, handle_of, is_tensor
from checker.simulator.values import Handle


@dataclass(frozen=True)
class _Axis:
    """The numbers of a tile with one of its axes last, and what is promised along it."""

    numbers: np.ndarray
    """Of pointers: bytes from the start of `tensor`."""
    unit: int
    """How far apart neighbours in memory are."""
    promised: int
    tensor: str | None


class Promises:
    """Compares each promise with the values, and passes false ones to `report`. `front` is that of `Operations`."""

    def __init__(self, report: Callable[..., None], front: int = 0) -> None:
        self.report = report
        self.front = front

    def functions(self) -> dict[str, Callable[..., Any]]:
        """The replacements for the functions of the language that make promises."""
        return {
            "multiple_of": self.multiple_of,
            "max_contiguous": self.max_contiguous,
            "max_constancy": self.max_constancy,
        }

    def multiple_of(self, x: Any, values: Any, *_: Any, **__: Any) -> Any:
        """In a run of neighbours that count up by one, only the first must be a multiple: a wide load begins there."""
        for axis in _axes(x, values, self.front):
            numbers = axis.numbers
            first = np.ones(numbers.shape, bool)
            first[..., 1:] = np.diff(numbers, axis=-1) != axis.unit
            wrong = numbers[first & (numbers % axis.promised != 0)]
            if wrong.size:
                self._false("tl.multiple_of", axis, values=(int(wrong[0]),))
        return x

    def max_contiguous(self, x: Any, values: Any, *_: Any, **__: Any) -> Any:
        for axis in _axes(x, values, self.front):
            self._check_groups("tl.max_contiguous", axis, axis.unit)
        return x

    def max_constancy(self, x: Any, values: Any, *_: Any, **__: Any) -> Any:
        for axis in _axes(x, values, self.front):
            self._check_groups("tl.max_constancy", axis, 0)
        return x

    def _check_groups(self, name: str, axis: _Axis, step: int) -> None:
        """Within each group of as many lanes as promised, neighbours must be `step` apart."""
        numbers = axis.numbers
        lane = np.arange(1, numbers.shape[-1])
        wrong = (np.diff(numbers, axis=-1) != step) & (lane % axis.promised != 0)
        if wrong.any():
            *rest, at = (int(i) for i in np.argwhere(wrong)[0])
            pair = (int(numbers[(*rest, at)]), int(numbers[(*rest, at + 1)]))
            self._false(name, axis, values=pair, elements=((at + 1,),))

    def _false(self, name: str, axis: _Axis, **more: Any) -> None:
        self.report(name, promised=axis.promised, tensor=axis.tensor, **more)


def _axes(x: Any, values: Any, front: int) -> list[_Axis]:
    """Each axis of a tile along which something is promised."""
    if not is_tensor(x):
        return []
    handle: Handle = handle_of(x)
    values = constant_value(values)
    promised = [int(constant_value(v)) for v in values] if isinstance(values, Sequence) else [int(values)]
    unit, base, tensor = 1, 0, None
    if handle.type.is_ptr():  # divisible in bytes, contiguous in elements
        unit = max(1, handle.type.element_ty.primitive_bitwidth // 8)
        if handle.pointer is not None and handle.pointer.tensor is not None:
            base, tensor = handle.pointer.tensor.base, handle.pointer.tensor.name
    numbers = np.asarray(handle.data).astype(np.int64) - base
    while numbers.ndim <= front:
        numbers = numbers[..., None]
    return [
        _Axis(np.moveaxis(numbers, front + axis, -1), unit, value, tensor)
        for axis, value in enumerate(promised[: numbers.ndim - front])
        if value > 1
    ]
