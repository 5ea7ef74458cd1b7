"""The defects of a launch, each told once, in words a learner can use."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from checker.simulator import numerics
from checker.simulator.access import Access
from checker.simulator.device_tensor import DeviceTensor
from checker.simulator.location import Location, Locator
from checker.simulator.trace import EventKind, Finding, FindingKind
from checker.simulator.values import Handle

SHOWN = 4
"""How many elements a finding names."""

_HOW_A_NAN_IS_MADE = {
    "-": " (inf - inf, or -inf - -inf, has no value)",
    "+": " (inf + -inf has no value)",
    "*": " (0 * inf has no value)",
    "/": " (0 / 0 and inf / inf have no value)",
    "tl.sum": " (inf and -inf in one sum have no value)",
    "tl.dot": " (0 * inf, or inf and -inf in one sum, have no value)",
    "tl.log": " (the logarithm of a negative number has no value)",
    "tl.log2": " (the logarithm of a negative number has no value)",
    "tl.sqrt": " (the root of a negative number has no value)",
    "tl.rsqrt": " (the root of a negative number has no value)",
}
"""Out of numbers, by each operation."""

_KEPT_INSIDE = {
    "no mask": "A mask switches off the lanes that have no element.",
    "mask": "The mask lets them through: compare it with the sizes and strides of this tensor.",
    "boundary_check": "Name every axis that may pass the edge in `boundary_check`, and compare the block pointer's shape and "
    "strides with those of this tensor.",
    "descriptor": "The descriptor's shape lets them through: compare it and its strides with those of this tensor.",
}
"""What keeps lanes inside a tensor, by their guard."""


@dataclass
class _Origin:
    """A load that left lanes undefined, or an operation that made a NaN."""

    line: int
    program: tuple[int, int, int]
    name: str  # the tensor loaded, or the operation
    block: bool = False  # of a load: by a block pointer

    @property
    def lanes(self) -> str:
        return "lanes past the edge" if self.block else "masked lanes"

    @property
    def remedy(self) -> str:
        return 'padding_option="zero"' if self.block else "other=..."


@dataclass
class _Origins:
    """Origins by number; the same name in the same line is one."""

    origins: list[_Origin] = field(default_factory=list)
    numbers: dict[tuple[int, str], int] = field(default_factory=dict)

    def __getitem__(self, number: int) -> _Origin:
        return self.origins[number]

    def number(self, line: int, program: tuple[int, int, int], name: str, block: bool = False) -> int:
        if (line, name) not in self.numbers:
            self.numbers[line, name] = len(self.origins)
            self.origins.append(_Origin(line, program, name, block))
        return self.numbers[line, name]


@dataclass
class Findings:
    """What is wrong with the launch, as far as it is known."""

    locator: Locator
    grid: tuple[int, int, int]
    _undefined_loads: _Origins = field(default_factory=_Origins)
    _nan_origins: _Origins = field(default_factory=_Origins)
    _found: dict[tuple[Any, ...], Finding] = field(default_factory=dict)

    def found(self) -> list[Finding]:
        """All so far, in the order in which they were found."""
        return list(self._found.values())

    def _add(
        self,
        kind: FindingKind,
        message: str,
        line: int | None,
        tensor: DeviceTensor | None,
        offsets: np.ndarray | None = None,
        count: int = 0,
        operation: str | None = None,
        key: Any = None,
        masked: bool = False,
    ) -> None:
        """Tell it, or count on where the same was found before: the same defect at the same line is told once."""
        name = tensor.name if tensor is not None else None
        same = (kind, line, name, key)
        found = self._found.get(same)
        if found is None:
            elements: tuple[tuple[int, ...], ...] = ()
            if tensor is not None and offsets is not None:
                elements = tuple(tensor.index(int(o)) for o in offsets[:SHOWN])
            found = Finding(kind, message, line, self.locator.program, name, elements, 0, operation, masked)
        self._found[same] = replace(found, count=found.count + count)

    # accesses ---------------------------------------------------------------------------------------------------------

    def out_of_bounds(self, kind: EventKind, access: Access, location: Location) -> None:
        """Active lanes point outside their tensor."""
        tensor = access.tensor
        outside = np.sort(access.offsets[access.outside])
        first = int(outside[0])
        lanes = "lane" if outside.size == 1 else "lanes"
        verb = ("read" if kind == "load" else "write") + ("s" if outside.size == 1 else "")
        shape = " × ".join(str(n) for n in tensor.shape) or "a single element"
        guard = access.pointer.guard
        message = (
            f"{outside.size} {lanes} of program {self._program(self.locator.program)} {verb} outside "
            f"{_plain(tensor.name)} ({shape}): the first at {list(tensor.index(first))}, "
            f"{_where_outside(tensor, first)}. "
            + _KEPT_INSIDE["no mask" if not access.masked and guard == "mask" else guard]
        )
        finding: FindingKind = "out_of_bounds_load" if kind == "load" else "out_of_bounds_store"
        self._add(finding, message, location.line, tensor, outside, outside.size, masked=access.masked)

    def race(self, what: str, access: Access, clash: np.ndarray, touched_by: np.ndarray) -> None:
        """Two programs touch the same elements, in an order that nobody fixes on a GPU.

        `clash` says which of the valid lanes, `touched_by` the other program of each valid lane.
        """
        tensor = access.tensor
        offsets = np.sort(access.valid_offsets[clash])
        first = int(np.flatnonzero(clash)[0])
        other = int(touched_by[first])
        named = "several other programs" if other < 0 else f"program {self._program(self._program_id(other))}"
        message = (
            f"Program {self._program(self.locator.program)} {what}: {_plain(tensor.name)} at "
            f"{list(tensor.index(int(access.valid_offsets[first])))}, shared with {named}. Programs run in any order and at "
            "the same time, so the result would be a matter of luck, even where both store the same value today."
        )
        self._add("race", message, self.locator.line(), tensor, offsets, int(clash.sum()), key=what)

    def race_in_store(self, access: Access, offsets: np.ndarray) -> None:
        """Two lanes of one store write the same elements."""
        tensor = access.tensor
        offsets = np.unique(offsets)
        message = (
            f"Two lanes of this one store write the same element of {_plain(tensor.name)}, "
            f"{list(tensor.index(int(offsets[0])))}. Which of them wins is not defined, "
            "even where both store the same value today."
        )
        self._add("race_in_store", message, self.locator.line(), tensor, offsets, offsets.size)

    def missing_barrier(self, access: Access, too_soon: np.ndarray) -> None:
        """A program loads what its own threads may not have stored yet. `too_soon` says which of the valid lanes."""
        tensor, offsets = access.tensor, np.sort(access.valid_offsets[too_soon])
        message = (
            f"Program {self._program(self.locator.program)} loads {list(tensor.index(int(offsets[0])))} of {_plain(tensor.name)} in "
            f"line {self.locator.line()} and has stored it before, with no barrier in between. The threads of a program do not wait "
            "for one another: one may load the element before another has stored it."
        )
        self._add("missing_barrier", message, self.locator.line(), tensor, offsets, offsets.size)

    def false_promise(self, promise: str, truth: str) -> None:
        """The compiler is told something that is not so."""
        line = self.locator.line()
        message = f"{promise} in line {line} is not true: {truth}, in program {self._program(self.locator.program)}."
        self._add("false_promise", message, line, None, count=1, key=promise)

    # undefined values and NaN -----------------------------------------------------------------------------------------

    def undefined_load(self, access: Access, line: int) -> int:
        """A number for a load that left masked lanes undefined."""
        block = access.pointer.guard != "mask"
        return self._undefined_loads.number(line, self.locator.program, access.tensor.name, block)

    def nan_origin(self, operation: str) -> int:
        """A number for an operation in which a NaN came to be."""
        return self._nan_origins.number(self.locator.line(), self.locator.program, operation)

    def stored_value(self, access: Access, value: Handle, mask: Handle | None, ptr: Handle, stored: np.ndarray) -> None:
        """Look at what is stored: do undefined lanes decide it, does it hold NaN? `stored` are the values of the valid lanes."""
        for part in (value, mask, ptr):
            if part is None or part.taint is None:
                continue
            reached = access.valid_lanes(part.taint.lanes)
            if part is mask and not reached.any():
                # a lane switched off by an undefined mask is as wrong as one switched on
                reached = np.broadcast_to(part.taint.lanes, access.offsets.shape).reshape(-1)
            if reached.any():
                self._undefined_stored(access, part.taint.loads, reached)
        if value.nan_origins is not None:
            origins = access.valid_lanes(value.nan_origins)
            origins = origins[origins > 0] - 1
            if origins.size and numerics.is_float(np.asarray(stored).dtype):
                self._nan_stored(access, self._nan_origins[int(origins.min())], np.isnan(stored))

    def _undefined_stored(self, access: Access, loads: frozenset[int], reached: np.ndarray) -> None:
        offsets = access.valid_offsets if reached.size == access.valid_offsets.size else access.offsets.reshape(-1)
        for number in sorted(loads):
            load = self._undefined_loads[number]
            message = (
                f"The load of {_plain(load.name)} in line {load.line} leaves its {load.lanes} undefined, and they change what line "
                f"{self.locator.line()} stores to {_plain(access.tensor.name)}. Say what they hold: `{load.remedy}`, a value "
                "that changes neither a maximum nor a sum it goes into."
            )
            self._add("undefined_lanes", message, load.line, access.tensor, offsets[reached], int(reached.sum()))

    def undefined_branch(self, loads: frozenset[int]) -> None:
        """A Python `if` or `while` asked for a value that is undefined."""
        for number in sorted(loads):
            load = self._undefined_loads[number]
            message = (
                f"The load of {_plain(load.name)} in line {load.line} leaves its {load.lanes} undefined, and line "
                f"{self.locator.line()} bases a decision on them. Say what they hold: `{load.remedy}`."
            )
            self._add("undefined_lanes", message, load.line, None, count=1)

    def _nan_stored(self, access: Access, origin: _Origin, nan: np.ndarray) -> None:
        message = (
            f"A NaN first appears in line {origin.line}: {origin.name} made it out of operands that were not NaN"
            f"{_HOW_A_NAN_IS_MADE.get(origin.name, '')}. From there it reaches {_plain(access.tensor.name)} "
            f"in line {self.locator.line()}."
        )
        offsets = access.valid_offsets[nan]
        self._add("nan_born", message, origin.line, access.tensor, offsets, int(nan.sum()), operation=origin.name)

    # at the end -------------------------------------------------------------------------------------------------------

    def finish(self, tensors: list[DeviceTensor], outputs: tuple[str, ...]) -> None:
        """What can only be said at the end: what was never written, and what should not have been."""
        for tensor in tensors:
            wrong = np.flatnonzero(tensor.writer < 0 if tensor.name in outputs else tensor.writer >= 0)
            if wrong.size and tensor.name in outputs:
                self._unwritten(tensor, wrong)
            elif wrong.size:
                self._modified(tensor, wrong)

    def _unwritten(self, tensor: DeviceTensor, missing: np.ndarray) -> None:
        elements = _first_indices(tensor, missing)
        message = (
            f"{missing.size} of {tensor.count} elements of {_plain(tensor.name)} are never stored, the first at "
            f"{list(elements[0])}."
        )
        self._found["unwritten", tensor.name] = Finding(
            "unwritten", message, None, None, tensor.name, elements, missing.size
        )

    def _modified(self, tensor: DeviceTensor, changed: np.ndarray) -> None:
        first = int(changed[0])
        elements = _first_indices(tensor, changed)
        line = int(tensor.writer_line[first])
        program = self._program_id(int(tensor.writer[first]))
        message = (
            f"{_plain(tensor.name)} is an input, but line {line} stores to {changed.size} of its elements, the first at "
            f"{list(elements[0])}. Store to the output instead."
        )
        self._found["modified_input", tensor.name] = Finding(
            "modified_input", message, line, program, tensor.name, elements, changed.size
        )

    # words ------------------------------------------------------------------------------------------------------------

    def _program(self, program: tuple[int, int, int]) -> str:
        """As many numbers as the grid has dimensions."""
        used = max((i + 1 for i in range(3) if self.grid[i] > 1), default=1)
        return str(program[0] if used == 1 else program[:used])

    def _program_id(self, linear: int) -> tuple[int, int, int]:
        rest, x = divmod(linear, self.grid[0])
        z, y = divmod(rest, self.grid[1])
        return x, y, z


def _plain(tensor: str) -> str:
    """``x`` for ``x_ptr``: the parameter is a pointer, what a message speaks of is the tensor behind it."""
    return tensor.removesuffix("_ptr")


def _where_outside(tensor: DeviceTensor, offset: int) -> str:
    if offset < 0:
        return "before its first element"
    if offset < tensor.span:
        return "in the gap between its rows"
    return "past its last element"


def _first_indices(tensor: DeviceTensor, elements: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """The indices of the first few of these row-major elements."""
    return tuple(tuple(int(i) for i in np.unravel_index(int(e), tensor.shape)) for e in elements[:SHOWN])
