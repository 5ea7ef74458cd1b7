"""What a kernel promises the compiler about values: `tl.multiple_of`, `tl.max_contiguous`, `tl.max_constancy`, `tl.assume`.

The compiler believes every one of them and loads wider than one element at a time by them. They change no value here, so
they are compared with what the values are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from checker.simulator.triton_internals import constant_value, handle_of, is_tensor
from checker.simulator.values import Handle


class TellsOfPromises(Protocol):
    def false_promise(self, promise: str, truth: str) -> None: ...


class Promises:
    """Looks at each promise as it is made, and tells `findings` of a false one. `front` is that of `Operations`."""

    def __init__(self, findings: TellsOfPromises, front: int = 0) -> None:
        self.findings = findings
        self.front = front

    def functions(self) -> dict[str, Callable[..., Any]]:
        """What stands in for the functions of the language that make promises of values."""
        return {
            "multiple_of": self.multiple_of,
            "max_contiguous": self.max_contiguous,
            "max_constancy": self.max_constancy,
        }

    def multiple_of(self, x: Any, values: Any, *_: Any, **__: Any) -> Any:
        """Of neighbours that count up by one, the first is meant: that is where a wide load begins."""
        for numbers, unit, value, shown in self._axes(x, values):
            first = np.ones(numbers.shape, bool)
            first[..., 1:] = np.diff(numbers, axis=-1) != unit
            wrong = numbers[first & (numbers % value != 0)]
            if wrong.size:
                self.findings.false_promise(
                    f"tl.multiple_of(…, {value})", f"{shown(wrong[0])} is no multiple of {value}"
                )
        return x

    def max_contiguous(self, x: Any, values: Any, *_: Any, **__: Any) -> Any:
        for numbers, unit, value, shown in self._axes(x, values):
            self._groups("tl.max_contiguous", numbers, unit, value, "is not one more than", shown)
        return x

    def max_constancy(self, x: Any, values: Any, *_: Any, **__: Any) -> Any:
        for numbers, _unit, value, shown in self._axes(x, values):
            self._groups("tl.max_constancy", numbers, 0, value, "is not the same as", shown)
        return x

    def _groups(
        self, name: str, numbers: np.ndarray, step: int, value: int, is_not: str, shown: Callable[[Any], str]
    ) -> None:
        """Within each group of `value` lanes neighbours are `step` apart."""
        lane = np.arange(1, numbers.shape[-1])
        wrong = (np.diff(numbers, axis=-1) != step) & (lane % value != 0)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            before, after = numbers[at], numbers[(*at[:-1], at[-1] + 1)]
            truth = f"lane {at[-1] + 1} is {shown(after)}, which {is_not} {shown(before)}"
            self.findings.false_promise(f"{name}(…, {value})", truth)

    def _axes(self, x: Any, values: Any) -> list[tuple[np.ndarray, int, int, Callable[[Any], str]]]:
        """For each axis of a tile its numbers with that axis last, how far neighbours in memory are apart, and what is promised of it."""
        if not is_tensor(x):
            return []
        handle: Handle = handle_of(x)
        values = constant_value(values)
        promised = [int(constant_value(v)) for v in values] if isinstance(values, Sequence) else [int(values)]
        numbers = np.asarray(handle.data)
        unit, base = 1, 0
        if handle.type.is_ptr():  # divisible in bytes, contiguous in elements
            unit = max(1, handle.type.element_ty.primitive_bitwidth // 8)
            base = handle.pointer.tensor.base if handle.pointer is not None and handle.pointer.tensor is not None else 0
        numbers = numbers.astype(np.int64) - base
        while numbers.ndim <= self.front:
            numbers = numbers[..., None]

        def shown(number: Any) -> str:
            return f"byte {int(number)} of its tensor" if unit != 1 or base else str(int(number))

        return [
            (np.moveaxis(numbers, self.front + axis, -1), unit, value, shown)
            for axis, value in enumerate(promised[: numbers.ndim - self.front])
            if value > 1
        ]
