"""Writes down what programs did: events, traffic, and findings in words a learner can use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from checker.simulator import boxes, numerics
from checker.simulator.frames import Frames, Place, state
from checker.simulator.trace import Event, EventKind, Finding, FindingKind, SimulateOptions, Traffic

if TYPE_CHECKING:
    from checker.simulator.access import Access
    from checker.simulator.region import Region
    from checker.simulator.values import Handle

SHOWN = 4
"""How many elements a finding names."""


@dataclass
class _Open:
    """A finding that may still grow: the same defect at the same line is told once."""

    kind: FindingKind
    message: str
    line: int | None
    program: tuple[int, int, int] | None
    tensor: str | None
    elements: list[tuple[int, ...]]
    count: int = 0
    operation: str | None = None


@dataclass
class _Count:
    loaded: int = 0
    stored: int = 0
    loads: int = 0
    stores: int = 0


@dataclass
class _Source:
    """A load that left lanes undefined, or an operation that made a NaN."""

    line: int
    program: tuple[int, int, int]
    name: str  # the tensor loaded, or the operation
    step: int = 0


@dataclass
class Recorder:
    """Everything a launch leaves behind. `program` is the program that runs now."""

    options: SimulateOptions
    frames: Frames
    grid: tuple[int, int, int]
    given: dict[str, Any] = field(default_factory=dict)
    program: tuple[int, int, int] = (0, 0, 0)
    events: list[Event] = field(default_factory=list)
    counts: dict[str, _Count] = field(default_factory=dict)
    sources: list[_Source] = field(default_factory=list)
    births: list[_Source] = field(default_factory=list)
    _findings: dict[tuple[Any, ...], _Open] = field(default_factory=dict)
    _source_numbers: dict[tuple[int, str], int] = field(default_factory=dict)
    _birth_numbers: dict[tuple[int, str], int] = field(default_factory=dict)

    # accesses ---------------------------------------------------------------------------------------------------------

    def load(self, access: Access, undefined: bool) -> int:
        count = self.counts[access.region.name]
        count.loads += 1
        count.loaded += access.chosen.size * access.region.item
        return self._access("load", access, undefined)

    def store(self, access: Access) -> int:
        count = self.counts[access.region.name]
        count.stores += 1
        count.stored += access.chosen.size * access.region.item
        return self._access("store", access) or self.frames.line()

    def atomic(self, access: Access) -> int:
        count = self.counts[access.region.name]
        count.loads += 1
        count.stores += 1
        moved = access.chosen.size * access.region.item
        count.loaded += moved
        count.stored += moved
        return self._access("atomic", access) or self.frames.line()

    def _access(self, kind: EventKind, access: Access, undefined: bool = False) -> int:
        """Record one access; returns its line where that had to be found out, else 0."""
        wanted = self.options.events
        stray = access.good is not None and (access.active is None or bool((access.active & ~access.good).any()))
        if not (wanted or stray or undefined):
            return 0
        place = self.frames.place()
        if stray:
            self._out_of_bounds(kind, access, place)
        if wanted:
            off = 0 if access.active is None else int((~access.active).sum())
            self._event(
                kind,
                access.region.name,
                place,
                tile=boxes.tile_of(access),
                bytes=access.chosen.size * access.region.item,
                masked=off,
                undefined=off if undefined else 0,
                out_of_bounds=int(access.outside.sum()) if stray else 0,
            )
        return place.line

    def dot(self) -> None:
        if self.options.events:
            self._event("dot", "", self.frames.place(), tile=None)

    def _event(self, kind: EventKind, tensor: str, place: Place, **more: Any) -> None:
        locals_ = state(place.frame, self.given) if self.options.state else {}
        event = Event(
            step=len(self.events),
            program=self.program,
            kind=kind,
            tensor=tensor,
            line=place.line,
            function=place.function,
            loops=place.loops,
            state=locals_,
            kernel_line=place.kernel_line,
            **more,
        )
        self.events.append(event)

    # findings ---------------------------------------------------------------------------------------------------------

    def _find(
        self,
        kind: FindingKind,
        message: str,
        line: int | None,
        region: Region | None,
        places: np.ndarray | None = None,
        count: int = 0,
        operation: str | None = None,
        key: Any = None,
    ) -> None:
        tensor = region.name if region is not None else None
        name = (kind, line, tensor, key)
        found = self._findings.get(name)
        if found is None:
            elements = []
            if region is not None and places is not None:
                elements = [region.index(int(p)) for p in places[:SHOWN]]
            program = self.program
            found = self._findings[name] = _Open(kind, message, line, program, tensor, elements, 0, operation)
        found.count += count

    def findings(self) -> list[Finding]:
        return [
            Finding(f.kind, f.message, f.line, f.program, f.tensor, tuple(f.elements), f.count, f.operation)
            for f in self._findings.values()
        ]

    def _out_of_bounds(self, kind: EventKind, access: Access, place: Place) -> None:
        region = access.region
        outside = np.sort(access.places[access.outside])
        first = region.index(int(outside[0]))
        verb = ("read" if kind == "load" else "write") + ("s" if outside.size == 1 else "")
        where = _where_outside(region, int(outside[0]))
        shape = " × ".join(str(n) for n in region.shape) or "a single element"
        message = (
            f"{outside.size} {_lanes(outside.size)} of program {_program(self.program, self.grid)} {verb} outside "
            f"{_said(region)} ({shape}): the first at {_index(first)}, {where}. "
            + (
                "A mask switches off the lanes that have no element."
                if access.active is None
                else "The mask lets them through: compare it with the sizes and strides of this tensor."
            )
        )
        finding: FindingKind = "out_of_bounds_load" if kind == "load" else "out_of_bounds_store"
        self._find(finding, message, place.line, region, outside, outside.size)

    def race(self, what: str, access: Access, clash: np.ndarray, who: np.ndarray, where: np.ndarray) -> None:
        """Two programs touch the same elements, in an order that nobody fixes on a GPU."""
        region = access.region
        places = np.sort(access.chosen[clash])
        first = int(np.flatnonzero(clash)[0])
        other = int(who[where[first]])
        named = "several other programs" if other < 0 else f"program {_program(_unlinear(other, self.grid), self.grid)}"
        message = (
            f"Program {_program(self.program, self.grid)} {what}: {_said(region)} at "
            f"{_index(region.index(int(access.chosen[first])))}, shared with {named}. Programs run in any order and at the "
            "same time, so the result would be a matter of luck, even where both store the same value today."
        )
        self._find("race", message, self.frames.line(), region, places, int(clash.sum()), key=what)

    def race_in_store(self, access: Access, places: np.ndarray) -> None:
        region = access.region
        places = np.unique(places)
        message = (
            f"Two lanes of this one store write the same element of {_said(region)}, {_index(region.index(int(places[0])))}. "
            "Which of them wins is not defined, even where both store the same value today."
        )
        self._find("race", message, self.frames.line(), region, places, places.size, key="lanes")

    def undefined_source(self, access: Access, line: int) -> int:
        """A number for a load that left masked lanes undefined."""
        key = (line, access.region.name)
        if key not in self._source_numbers:
            self._source_numbers[key] = len(self.sources)
            self.sources.append(_Source(line, self.program, access.region.name))
        return self._source_numbers[key]

    def born(self, operation: str) -> int:
        """A number for an operation in which a NaN came to be."""
        line = self.frames.line()
        key = (line, operation)
        if key not in self._birth_numbers:
            self._birth_numbers[key] = len(self.births)
            self.births.append(_Source(line, self.program, operation))
        return self._birth_numbers[key]

    def stored_value(self, access: Access, parts: tuple[Handle | None, ...], chosen: np.ndarray) -> None:
        """Look at what is stored: do undefined lanes decide it, does it hold NaN?"""
        value = parts[0]
        shape = access.places.shape
        for part in parts:
            if part is None or part.taint is None:
                continue
            lanes = np.broadcast_to(part.taint.lanes, shape)
            reached = lanes.reshape(-1) if access.good is None else lanes[access.good]
            if part is parts[1] and not reached.any():
                reached = lanes.reshape(-1)  # a lane switched off by an undefined mask is as wrong as one switched on
            if reached.any():
                self._undefined(access, part.taint.sources, reached)
        if value is not None and value.nans is not None:
            lanes = np.broadcast_to(value.nans, shape)
            births = lanes.reshape(-1) if access.good is None else lanes[access.good]
            births = births[births > 0] - 1
            if births.size and numerics.is_float(np.asarray(chosen).dtype):
                self._nan(access, int(births.min()), chosen)

    def _undefined(self, access: Access, sources: frozenset[int], reached: np.ndarray) -> None:
        store = self.frames.line()
        places = access.chosen[reached] if reached.size == access.chosen.size else access.places.reshape(-1)[reached]
        for number in sorted(sources):
            source = self.sources[number]
            message = (
                f"The load of {_plain(source.name)} in line {source.line} leaves its masked lanes undefined, and they change what line "
                f"{store} stores to {_said(access.region)}. Say what they hold: `other=...`, a value that changes "
                "neither a maximum nor a sum it goes into."
            )
            self._find("undefined_lanes", message, source.line, access.region, places, int(reached.sum()))

    def undefined_branch(self, sources: frozenset[int]) -> None:
        """A Python `if` or `while` asked for a value that is undefined."""
        for number in sorted(sources):
            source = self.sources[number]
            message = (
                f"The load of {_plain(source.name)} in line {source.line} leaves its masked lanes undefined, and line {self.frames.line()} "
                "decides by them. Say what they hold: `other=...`."
            )
            self._find("undefined_lanes", message, source.line, None, count=1)

    def _nan(self, access: Access, number: int, chosen: np.ndarray) -> None:
        birth = self.births[number]
        nan = np.isnan(chosen)
        message = (
            f"A NaN is born in line {birth.line}: {birth.name} made it out of operands that were not NaN"
            f"{_NAN_WAYS.get(birth.name, '')}. From there it reaches {_said(access.region)} in line {self.frames.line()}."
        )
        self._find(
            "nan_born", message, birth.line, access.region, access.chosen[nan], int(nan.sum()), operation=birth.name
        )

    def finish(self, regions: list[Region], outputs: tuple[str, ...]) -> None:
        """What can only be said at the end: what was never written, and what should not have been."""
        self.program = (0, 0, 0)
        for region in regions:
            if region.name in outputs:
                missing = np.flatnonzero(region.writer < 0)
                if missing.size:
                    self._unwritten(region, missing)
            else:
                changed = np.flatnonzero(region.writer >= 0)
                if changed.size:
                    self._modified(region, changed)

    def _unwritten(self, region: Region, missing: np.ndarray) -> None:
        first = tuple(int(i) for i in np.unravel_index(int(missing[0]), region.shape)) if region.shape else ()
        message = f"{missing.size} of {region.count} elements of {_said(region)} are never stored, the first at {_index(first)}."
        elements = [tuple(int(i) for i in np.unravel_index(int(m), region.shape)) for m in missing[:SHOWN]]
        self._findings["unwritten", region.name] = _Open(
            "unwritten", message, None, None, region.name, elements if region.shape else [()], missing.size
        )

    def _modified(self, region: Region, changed: np.ndarray) -> None:
        first = int(changed[0])
        elements = [tuple(int(i) for i in np.unravel_index(int(m), region.shape)) for m in changed[:SHOWN]]
        line = int(region.writer_line[first])
        program = _unlinear(int(region.writer[first]), self.grid)
        message = (
            f"{_said(region)} is an input, but line {line} stores to {changed.size} of its elements, the first at "
            f"{_index(elements[0])}. Store to the output instead."
        )
        self._findings["modified_input", region.name] = _Open(
            "modified_input", message, line, program, region.name, elements, changed.size
        )

    def traffic(self) -> dict[str, Traffic]:
        return {name: Traffic(c.loaded, c.stored, c.loads, c.stores) for name, c in self.counts.items()}


_NAN_WAYS = {
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


def _plain(tensor: str) -> str:
    """``x`` for ``x_ptr``: the parameter is a pointer, what a message speaks of is the tensor behind it."""
    return tensor.removesuffix("_ptr")


def _said(region: Region) -> str:
    return _plain(region.name)


def _lanes(count: int) -> str:
    return "lane" if count == 1 else "lanes"


def _index(index: tuple[int, ...]) -> str:
    return "[" + ", ".join(str(i) for i in index) + "]"


def _program(program: tuple[int, int, int], grid: tuple[int, int, int]) -> str:
    """As many numbers as the grid has dimensions."""
    used = max((i + 1 for i in range(3) if grid[i] > 1), default=1)
    return str(program[0]) if used == 1 else "(" + ", ".join(str(p) for p in program[:used]) + ")"


def _unlinear(number: int, grid: tuple[int, int, int]) -> tuple[int, int, int]:
    rest, x = divmod(number, grid[0])
    z, y = divmod(rest, grid[1])
    return x, y, z


def _where_outside(region: Region, place: int) -> str:
    if place < 0:
        return "before its first element"
    if place < region.span:
        return "in the gap between its rows"
    if region.offset + place < region.storage_elements:
        return "in memory that belongs to something else"
    return "past its last element"
