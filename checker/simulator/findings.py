"""Collects the defects of a launch as data; `checker.judge.finding_words` puts them into words."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from checker.simulator import numerics
from checker.simulator.access import Access
from checker.simulator.device_tensor import MANY, DeviceTensor
from checker.simulator.location import Locator
from checker.simulator.trace import EventKind, Finding, FindingKind, Guard
from checker.simulator.values import Handle

SHOWN = 4
"""A finding lists at most this many elements."""


@dataclass(frozen=True)
class _Origin:
    """A load that left lanes undefined, or an operation that made a NaN."""

    line: int
    name: str  # the tensor loaded, or the operation
    guard: Guard = "mask"  # of a load


@dataclass
class _Origins:
    """Numbers origins; the same operation on the same line keeps its number."""

    origins: list[_Origin] = field(default_factory=list)
    numbers: dict[_Origin, int] = field(default_factory=dict)

    def __getitem__(self, number: int) -> _Origin:
        return self.origins[number]

    def number(self, origin: _Origin) -> int:
        if origin not in self.numbers:
            self.numbers[origin] = len(self.origins)
            self.origins.append(origin)
        return self.numbers[origin]


@dataclass
class Findings:
    """The defects of one launch so far."""

    locator: Locator
    grid: tuple[int, int, int]
    _undefined_loads: _Origins = field(default_factory=_Origins)
    _nan_origins: _Origins = field(default_factory=_Origins)
    _findings: dict[tuple[Any, ...], Finding] = field(default_factory=dict)

    def all(self) -> list[Finding]:
        """In the order of their first occurrence."""
        return list(self._findings.values())

    def _add(self, finding: Finding, tensor: DeviceTensor | None = None, offsets: np.ndarray | None = None) -> None:
        """Record a finding; the same defect on the same line is recorded once, and its lanes add up.

        `offsets` into `tensor` say which elements are concerned.
        """
        key = (finding.kind, finding.line, finding.tensor, finding.operation, finding.accesses)
        earlier = self._findings.get(key)
        if earlier is not None:
            self._findings[key] = replace(earlier, count=earlier.count + finding.count)
            return
        elements = finding.elements
        if tensor is not None and offsets is not None:
            elements = tuple(tensor.index(int(offset)) for offset in offsets[:SHOWN])
        self._findings[key] = replace(finding, elements=elements)

    # accesses ---------------------------------------------------------------------------------------------------------

    def out_of_bounds(self, kind: EventKind, access: Access) -> None:
        """Active lanes point outside their tensor."""
        outside = np.sort(access.offsets[access.outside])
        guard = access.pointer.guard
        finding = Finding(
            "out_of_bounds_load" if kind == "load" else "out_of_bounds_store",
            self.locator.line(),
            self.locator.program,
            access.tensor.name,
            count=outside.size,
            guard=None if guard == "mask" and not access.masked else guard,
        )
        self._add(finding, access.tensor, outside)

    def race(
        self, kinds: tuple[EventKind, EventKind], access: Access, clash: np.ndarray, touched_by: np.ndarray
    ) -> None:
        """Two programs touch the same elements, in an order that nothing fixes on a GPU.

        `kinds` are what this program and the other one do. `clash` marks the valid lanes concerned, `touched_by` holds the
        linear id of the other program for each valid lane.
        """
        other = int(touched_by[clash][0])
        finding = self._of_access("race", access, int(clash.sum()))
        finding = replace(finding, accesses=kinds, other=None if other == MANY else self._program_id(other))
        self._add(finding, access.tensor, np.sort(access.valid_offsets[clash]))

    def race_in_store(self, access: Access, offsets: np.ndarray) -> None:
        """Several lanes of one store write the elements at `offsets`."""
        offsets = np.unique(offsets)
        self._add(self._of_access("race_in_store", access, offsets.size), access.tensor, offsets)

    def missing_barrier(self, access: Access, too_soon: np.ndarray) -> None:
        """A program loads what its own threads may not have stored yet. `too_soon` marks the valid lanes concerned."""
        offsets = np.sort(access.valid_offsets[too_soon])
        self._add(self._of_access("missing_barrier", access, offsets.size), access.tensor, offsets)

    def false_promise(
        self,
        promise: str,
        promised: int = 0,
        values: tuple[int, ...] = (),
        lane: tuple[int, ...] = (),
        tensor: str | None = None,
    ) -> None:
        """The kernel tells the compiler something false; the arguments become fields of `Finding`."""
        self._add(
            Finding(
                "false_promise",
                self.locator.line(),
                self.locator.program,
                tensor,
                elements=(lane,) if lane else (),
                count=1,
                operation=promise,
                promised=promised,
                values=values,
            )
        )

    def _of_access(self, kind: FindingKind, access: Access, count: int) -> Finding:
        return Finding(kind, self.locator.line(), self.locator.program, access.tensor.name, count=count)

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
                self._undefined(part.taint.loads, int(reached.sum()), access.tensor, offsets[reached])
        if value.nan_origins is not None:
            origins = access.valid_lanes(value.nan_origins)
            origins = origins[origins > 0] - 1
            if origins.size and numerics.is_float(np.asarray(stored).dtype):
                self._nan_stored(access, self._nan_origins[int(origins.min())], np.isnan(stored))

    def undefined_branch(self, loads: frozenset[int]) -> None:
        """An `if` or `while` depends on an undefined value."""
        self._undefined(loads, 1)

    def _undefined(
        self, loads: frozenset[int], count: int, tensor: DeviceTensor | None = None, offsets: np.ndarray | None = None
    ) -> None:
        for load in (self._undefined_loads[number] for number in sorted(loads)):
            finding = Finding(
                "undefined_lanes",
                load.line,
                self.locator.program,
                tensor.name if tensor is not None else None,
                count=count,
                guard=load.guard,
                loaded=load.name,
                reached_line=self.locator.line(),
            )
            self._add(finding, tensor, offsets)

    def _nan_stored(self, access: Access, origin: _Origin, nan: np.ndarray) -> None:
        finding = Finding(
            "nan_born",
            origin.line,
            self.locator.program,
            access.tensor.name,
            count=int(nan.sum()),
            operation=origin.name,
            reached_line=self.locator.line(),
        )
        self._add(finding, access.tensor, access.valid_offsets[nan])

    # at the end -------------------------------------------------------------------------------------------------------

    def finish(self, tensors: list[DeviceTensor], outputs: tuple[str, ...]) -> None:
        """Add what only the end of the launch shows: outputs never written, inputs that changed."""
        for tensor in tensors:
            output = tensor.name in outputs
            elements = np.flatnonzero(tensor.writer < 0 if output else tensor.writer >= 0)
            if not elements.size:
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
