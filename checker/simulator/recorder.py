"""What a caller may have recorded about the accesses of a launch: bytes moved, and events with the kernel's variables.

A launch always computes its values and checks the bounds of each access. Everything else is an `Observer` that the caller
chooses with `SimulateOptions`; races are another one, in `races`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

from checker.simulator import numerics
from checker.simulator.access import Access
from checker.simulator.location import Location, Locator
from checker.simulator.tiles import tile_of
from checker.simulator.trace import MAX_DIMENSIONS, Event, EventKind, Order, StateValue, TileSummary, Traffic
from checker.simulator.triton_internals import handle_of, is_tensor

MAX_STATE = 1024
"""Tiles of more numbers than this are summarised in an event's state."""


class Observer:
    """Follows a launch. Each method does nothing unless it is overridden."""

    def start(self, program: int) -> None:
        """The program with this linear id begins."""

    def barrier(self) -> None:
        """All threads of the program wait for one another."""

    def access(self, kind: EventKind, access: Access) -> None:
        """A load, store or atomic, before it changes memory."""

    def synchronise(self, access: Access, order: Order) -> None:
        """The same atomic, with what it promises other programs."""

    def discarded(self) -> None:
        """Nobody uses the result of the last atomic."""

    def branch(self) -> None:
        """A number of the language decides an `if` or `while`."""

    def dot(self) -> None:
        """A `tl.dot`."""

    def printed(self, text: str) -> None:
        """What `print` or `tl.device_print` writes."""


class TrafficCounter(Observer):
    """Counts the bytes that cross the border of the chip, for each tensor."""

    def __init__(self) -> None:
        self.counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        """By tensor, the fields of `Traffic`."""

    def access(self, kind: EventKind, access: Access) -> None:
        count = self.counts[access.tensor.name]
        if kind != "store":
            count[0] += access.bytes
            count[2] += 1
        if kind != "load":
            count[1] += access.bytes
            count[3] += 1

    def traffic(self, names: list[str]) -> dict[str, Traffic]:
        """The totals of these tensors, also of those that were never accessed."""
        return {name: Traffic(*self.counts[name]) for name in names}


@dataclass
class EventRecorder(Observer):
    """Keeps each access and `tl.dot` as an event, with the kernel's variables beside it if `state` is set."""

    locator: Locator
    state: bool
    arguments: dict[str, Any] = field(default_factory=dict)
    """The kernel's arguments, which are left out of the state."""
    events: list[Event] = field(default_factory=list)

    def access(self, kind: EventKind, access: Access) -> None:
        masked = 0 if access.active is None else int((~access.active).sum())
        self._add(
            kind,
            access.tensor.name,
            self.locator.locate(),
            tile=tile_of(access),
            bytes=access.bytes,
            masked=masked,
            undefined=masked if access.leaves_undefined else 0,
            filler=_one_number(access.other) if masked else None,
            out_of_bounds=int(access.outside.sum()),
        )

    def dot(self) -> None:
        self._add("dot", "", self.locator.locate(), tile=None)

    def _add(self, kind: EventKind, tensor: str, location: Location, **more: Any) -> None:
        event = Event(
            step=len(self.events),
            program=self.locator.program,
            kind=kind,
            tensor=tensor,
            line=location.line,
            function=location.function,
            loops=location.loops,
            state=local_values(location.frame, self.arguments) if self.state else {},
            kernel_line=location.kernel_line,
            **more,
        )
        self.events.append(event)


def _one_number(filled: np.ndarray | None) -> float | None:
    """The number in all elements of a load's `other`; None without one, or if they differ."""
    if filled is None or not filled.size or not bool((filled == filled.flat[0]).all()):
        return None
    return float(filled.flat[0])


def local_values(frame: FrameType | None, arguments: dict[str, Any]) -> dict[str, StateValue]:
    """The kernel's local numbers and tiles, without arguments and pointers. Tiles above MAX_STATE numbers are summarised."""
    out: dict[str, StateValue] = {}
    if frame is None:
        return out
    for name, value in frame.f_locals.items():
        if name.startswith("__") or (name in arguments and arguments[name] is value):
            continue
        if isinstance(value, int) and value.bit_length() < 64:  # bool too
            out[name] = value
        elif isinstance(value, float):
            out[name] = _rounded(value)
        elif is_tensor(value):
            handle = handle_of(value)
            if handle.pointer is not None or handle.type.is_ptr():
                continue
            data = np.asarray(handle.data)
            if not numerics.is_float(data.dtype) and data.dtype.kind not in "biu":
                continue
            out[name] = _listed(data) if data.size <= MAX_STATE and data.ndim <= MAX_DIMENSIONS else _summary(data)
    return out


def _rounded(value: float) -> float:
    """`value` to four significant digits: enough to read, and short in a film."""
    number = float(value)
    return float(f"{number:.4g}") if np.isfinite(number) else number


def _listed(data: np.ndarray) -> Any:
    """The numbers as nested lists, floats to four significant digits.

    Scaling by a power of ten up to 10²² gives the double nearest to the decimal digits; the few other numbers are rounded one
    by one.
    """
    if data.dtype.kind in "biu":
        return data.tolist()
    data = data.astype(np.float64)
    with np.errstate(all="ignore"):
        digits = 3 - np.floor(np.log10(np.abs(data)))
        shift = np.power(10.0, np.abs(digits))
        short = np.where(digits >= 0, np.round(data * shift) / shift, np.round(data / shift) * shift)
        plain = np.isfinite(short) & (np.abs(digits) <= 22)
    for i in np.flatnonzero(np.isfinite(data) & ~plain):
        short.flat[i] = _rounded(data.flat[i])
    return np.where(np.isfinite(data), short, data).tolist()


def _summary(data: np.ndarray) -> TileSummary:
    numbers = data.astype(np.float64)
    defined = numbers[~np.isnan(numbers)]
    low, high = (_rounded(defined.min()), _rounded(defined.max())) if defined.size else (float("nan"), float("nan"))
    return {"shape": list(data.shape), "min": low, "max": high}
