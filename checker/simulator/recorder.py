"""Writes down what programs did: events with the state of the kernel's variables, and bytes.

What was wrong with an access goes to `findings`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

from checker.simulator import numerics
from checker.simulator.access import Access
from checker.simulator.findings import Findings
from checker.simulator.location import Location, Locator
from checker.simulator.tiles import tile_of
from checker.simulator.trace import MAX_DIMENSIONS, Event, EventKind, SimulateOptions, StateValue, TileSummary, Traffic
from checker.simulator.triton_internals import handle_of, is_tensor

MAX_STATE = 1024
"""Tiles of more numbers than this are summarised in an event's state."""


@dataclass
class _Count:
    loaded: int = 0
    stored: int = 0
    loads: int = 0
    stores: int = 0


@dataclass
class Recorder:
    """Everything a launch leaves behind. `arguments` are the kernel's, which its state leaves out."""

    options: SimulateOptions
    locator: Locator
    findings: Findings
    arguments: dict[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    counts: dict[str, _Count] = field(default_factory=dict)

    def watch(self, name: str) -> None:
        """Count what passes between the kernel and the tensor `name`, from nothing."""
        self.counts[name] = _Count()

    def access(self, kind: EventKind, access: Access, undefined: bool = False) -> int:
        """Returns its line; that of a load only where it had to be found out, else 0."""
        count, size = self.counts[access.tensor.name], access.bytes
        if kind != "store":
            count.loads += 1
            count.loaded += size
        if kind != "load":
            count.stores += 1
            count.stored += size
        wanted = self.options.events
        stray = access.valid is not None and (access.active is None or bool((access.active & ~access.valid).any()))
        if not (wanted or stray or undefined):
            return 0 if kind == "load" else self.locator.line()
        location = self.locator.locate()
        if stray:
            self.findings.out_of_bounds(kind, access, location)
        if wanted:
            off = 0 if access.active is None else int((~access.active).sum())
            self._event(
                kind,
                access.tensor.name,
                location,
                tile=tile_of(access),
                bytes=size,
                masked=off,
                undefined=off if undefined else 0,
                out_of_bounds=int(access.outside.sum()) if stray else 0,
            )
        return location.line

    def dot(self) -> None:
        if self.options.events:
            self._event("dot", "", self.locator.locate(), tile=None)

    def traffic(self) -> dict[str, Traffic]:
        return {name: Traffic(c.loaded, c.stored, c.loads, c.stores) for name, c in self.counts.items()}

    def _event(self, kind: EventKind, tensor: str, location: Location, **more: Any) -> None:
        event = Event(
            step=len(self.events),
            program=self.locator.program,
            kind=kind,
            tensor=tensor,
            line=location.line,
            function=location.function,
            loops=location.loops,
            state=local_values(location.frame, self.arguments) if self.options.state else {},
            kernel_line=location.kernel_line,
            **more,
        )
        self.events.append(event)


def local_values(frame: FrameType | None, arguments: dict[str, Any]) -> dict[str, StateValue]:
    """Local numbers and tiles of the kernel: not its arguments, not pointers. Tiles above MAX_STATE numbers are summarised."""
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
    """To four significant digits: enough to read, and short in a film."""
    number = float(value)
    return float(f"{number:.4g}") if np.isfinite(number) else number


def _listed(data: np.ndarray) -> Any:
    """The numbers as nested lists, floats to four significant digits.

    A whole number times or over a power of ten (up to 10²²) is the double nearest to its decimal digits; the few others are
    rounded one by one.
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
    known = numbers[~np.isnan(numbers)]
    low, high = (_rounded(known.min()), _rounded(known.max())) if known.size else (float("nan"), float("nan"))
    return {"shape": list(data.shape), "min": low, "max": high}
