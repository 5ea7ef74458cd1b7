"""Collects the defects of a launch as data; `checker.judge.finding_words` puts them into words."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from checker.simulator.access import Access
from checker.simulator.device_tensor import DeviceTensor
from checker.simulator.location import Locator
from checker.simulator.trace import EventKind, Finding, FindingKind, Guard
from checker.simulator.values import Handle, isinf, isnan

SHOWN = 4
"""A finding lists at most this many elements."""


@dataclass(frozen=True)
class _Origin:
    """A load that left lanes undefined, or an operation that made a NaN."""

    line: int
    name: str  # the tensor loaded, or the operation
    guard: Guard = "mask"  # of a load


class _Origins(dict[_Origin, int]):
    """Numbers origins; the same operation on the same line keeps its number."""

    def number(self, origin: _Origin) -> int:
        return self.setdefault(origin, len(self))

    def at(self, number: int) -> _Origin:
        return list(self)[number]


@dataclass
class Findings:
    """The defects of one launch so far."""

    locator: Locator
    grid: tuple[int, int, int]
    _undefined_loads: _Origins = field(default_factory=_Origins)
    _nan_origins: _Origins = field(default_factory=_Origins)
    _findings: dict[tuple[Any, ...], Finding] = field(default_factory=dict)
    _programs: dict[tuple[Any, ...], set[tuple[int, int, int]]] = field(default_factory=dict)

    def all(self) -> list[Finding]:
        """In the order of their first occurrence."""
        return list(self._findings.values())

    def add(self, kind: FindingKind, access: Access | None, offsets: np.ndarray, **more: Any) -> None:
        """Record a defect at `offsets` into the tensor of `access`; `more` holds other fields of `Finding`.

        The same defect on the same line is recorded once, and its lanes add up.
        """
        tensor = None if access is None else access.tensor
        fields = {"line": self.locator.line(), "tensor": tensor and tensor.name, "count": offsets.size, **more}
        finding = Finding(kind, program=self.locator.program, **fields)
        key = (kind, finding.line, finding.tensor, finding.operation, finding.accesses)
        programs = self._programs.setdefault(key, set())
        programs.add(self.locator.program)
        earlier = self._findings.get(key)
        if earlier is not None:
            self._findings[key] = replace(earlier, count=earlier.count + finding.count, programs=len(programs))
            return
        if tensor is not None:
            finding = replace(finding, elements=tuple(tensor.index(int(offset)) for offset in offsets[:SHOWN]))
        self._findings[key] = finding

    # accesses ---------------------------------------------------------------------------------------------------------

    def out_of_bounds(self, kind: EventKind, access: Access) -> None:
        """Active lanes point outside their tensor."""
        guard = None if access.pointer.guard == "mask" and not access.masked else access.pointer.guard
        outside = np.sort(access.offsets[access.outside])
        self.add("out_of_bounds_load" if kind == "load" else "out_of_bounds_store", access, outside, guard=guard)

    def race(self, kinds: tuple[EventKind, EventKind], access: Access, clash: np.ndarray, linear: int | None) -> None:
        """Two programs touch the same elements, in an order that nothing fixes on a GPU.

        `kinds` are what this program and the other one do. `clash` marks the valid lanes concerned, `linear` is the linear id of
        the other program, or None where there are several.
        """
        other = None if linear is None else self._program_id(linear)
        self.add("race", access, np.sort(access.valid_offsets[clash]), accesses=kinds, other=other)

    def early_release(self, line: int, lock: str, access: Access, lanes: np.ndarray, linear: int) -> None:
        """The program `linear` released `lock` in this line, and other threads of it may still have to do what `lock` guards."""
        offsets = np.sort(access.valid_offsets[lanes])
        self.add("early_release", access, offsets, line=line, operation=lock, other=self._program_id(linear))

    def false_promise(self, promise: str, **more: Any) -> None:
        """The kernel tells the compiler something false."""
        self.add("false_promise", None, np.empty(0), operation=promise, **{"count": 1, **more})

    # undefined values and NaN -----------------------------------------------------------------------------------------

    def undefined_load(self, access: Access) -> int:
        """Number a load that left masked lanes undefined."""
        return self._undefined_loads.number(_Origin(self.locator.line(), access.tensor.name, access.pointer.guard))

    def nan_origin(self, operation: str) -> int:
        """Number an operation whose result holds a NaN that no operand held."""
        return self._nan_origins.number(_Origin(self.locator.line(), operation))

    def stored_value(self, access: Access, value: Handle, mask: Handle | None, ptr: Handle, stored: np.ndarray) -> None:
        """Check a store for undefined lanes and NaN. `stored` are the values of the valid lanes."""
        for part in (value, mask, ptr):
            if part is None or part.taint is None:
                continue
            reached = access.valid_lanes(part.taint.lanes)
            if part is mask and not reached.any():
                # a lane switched off by an undefined mask is as wrong as one switched on
                reached = np.broadcast_to(part.taint.lanes, access.offsets.shape).reshape(-1)
            if reached.any():
                whole = access.offsets.reshape(-1)
                offsets = access.valid_offsets if reached.size == access.valid_offsets.size else whole
                self._undefined(part.taint.loads, access, offsets[reached])
        if value.nan_origins is not None:
            origins = access.valid_lanes(value.nan_origins)
            self._born("nan_born", access, origins, isnan(stored))
            self._born("inf_born", access, origins, isinf(stored))

    def _born(self, kind: FindingKind, access: Access, origins: np.ndarray, lanes: np.ndarray) -> None:
        """Operations made what these of the valid lanes store, if they have origins."""
        known = origins[lanes & (origins > 0)]
        if known.size:
            origin, reached = self._nan_origins.at(int(known.min()) - 1), access.valid_offsets[lanes]
            self.add(kind, access, reached, line=origin.line, operation=origin.name, reached_line=self.locator.line())

    def undefined_branch(self, loads: frozenset[int]) -> None:
        """An `if` or `while` depends on an undefined value."""
        self._undefined(loads, None, np.empty(0), count=1)

    def _undefined(self, loads: frozenset[int], access: Access | None, offsets: np.ndarray, **more: Any) -> None:
        for load in (self._undefined_loads.at(number) for number in sorted(loads)):
            more |= {"line": load.line, "guard": load.guard, "loaded": load.name, "reached_line": self.locator.line()}
            self.add("undefined_lanes", access, offsets, **more)

    # at the end -------------------------------------------------------------------------------------------------------

    def finish(self, tensors: list[DeviceTensor], outputs: tuple[str, ...], whole: bool) -> None:
        """Add what only the end of the launch shows: inputs that changed and, if all programs ran, outputs never written."""
        for tensor in tensors:
            output = tensor.name in outputs
            elements = np.flatnonzero(tensor.writer < 0 if output else tensor.writer >= 0)
            if not elements.size or (output and not whole):
                continue
            first = int(elements[0])
            indices = tuple(tuple(int(i) for i in np.unravel_index(int(e), tensor.shape)) for e in elements[:SHOWN])
            if output:
                finding = Finding("unwritten", None, None, tensor.name, indices, elements.size)
            else:
                line, program = int(tensor.writer_line[first]), self._program_id(int(tensor.writer[first]))
                finding = Finding("modified_input", line, program, tensor.name, indices, elements.size)
            self._findings[finding.kind, tensor.name] = finding

    def _program_id(self, linear: int) -> tuple[int, int, int]:
        rest, x = divmod(linear, self.grid[0])
        z, y = divmod(rest, self.grid[1])
        return x, y, z
