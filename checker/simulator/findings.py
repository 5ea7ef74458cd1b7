"""The defects of a launch, each told once, in words a learner can use."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from checker.simulator import numerics, words
from checker.simulator.frames import Frames, Place
from checker.simulator.trace import EventKind, Finding, FindingKind

if TYPE_CHECKING:
    from checker.simulator.access import Access
    from checker.simulator.region import Region
    from checker.simulator.values import Handle

SHOWN = 4
"""How many elements a finding names."""


@dataclass
class _Source:
    """A load that left lanes undefined, or an operation that made a NaN."""

    line: int
    program: tuple[int, int, int]
    name: str  # the tensor loaded, or the operation


@dataclass
class Findings:
    """What is wrong with the launch, as far as it is known."""

    frames: Frames
    grid: tuple[int, int, int]
    sources: list[_Source] = field(default_factory=list)
    births: list[_Source] = field(default_factory=list)
    _findings: dict[tuple[Any, ...], Finding] = field(default_factory=dict)
    _source_numbers: dict[tuple[int, str], int] = field(default_factory=dict)
    _birth_numbers: dict[tuple[int, str], int] = field(default_factory=dict)

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
        """Tell it, or count on where the same was found before: the same defect at the same line is told once."""
        tensor = region.name if region is not None else None
        name = (kind, line, tensor, key)
        found = self._findings.get(name)
        if found is None:
            elements: tuple[tuple[int, ...], ...] = ()
            if region is not None and places is not None:
                elements = tuple(region.index(int(p)) for p in places[:SHOWN])
            found = Finding(kind, message, line, self.frames.program, tensor, elements, 0, operation)
        self._findings[name] = replace(found, count=found.count + count)

    def told(self) -> list[Finding]:
        return list(self._findings.values())

    def out_of_bounds(self, kind: EventKind, access: Access, place: Place) -> None:
        region = access.region
        outside = np.sort(access.places[access.outside])
        first = region.index(int(outside[0]))
        verb = ("read" if kind == "load" else "write") + ("s" if outside.size == 1 else "")
        where = words.where_outside(region, int(outside[0]))
        shape = " × ".join(str(n) for n in region.shape) or "a single element"
        message = (
            f"{outside.size} {words.lanes(outside.size)} of program {words.program(self.frames.program, self.grid)} {verb} outside "
            f"{words.said(region)} ({shape}): the first at {words.index(first)}, {where}. "
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
        named = (
            "several other programs"
            if other < 0
            else f"program {words.program(words.unlinear(other, self.grid), self.grid)}"
        )
        message = (
            f"Program {words.program(self.frames.program, self.grid)} {what}: {words.said(region)} at "
            f"{words.index(region.index(int(access.chosen[first])))}, shared with {named}. Programs run in any order and at the "
            "same time, so the result would be a matter of luck, even where both store the same value today."
        )
        self._find("race", message, self.frames.line(), region, places, int(clash.sum()), key=what)

    def race_in_store(self, access: Access, places: np.ndarray) -> None:
        region = access.region
        places = np.unique(places)
        message = (
            f"Two lanes of this one store write the same element of {words.said(region)}, {words.index(region.index(int(places[0])))}. "
            "Which of them wins is not defined, even where both store the same value today."
        )
        self._find("race", message, self.frames.line(), region, places, places.size, key="lanes")

    def undefined_source(self, access: Access, line: int) -> int:
        """A number for a load that left masked lanes undefined."""
        key = (line, access.region.name)
        if key not in self._source_numbers:
            self._source_numbers[key] = len(self.sources)
            self.sources.append(_Source(line, self.frames.program, access.region.name))
        return self._source_numbers[key]

    def born(self, operation: str) -> int:
        """A number for an operation in which a NaN came to be."""
        line = self.frames.line()
        key = (line, operation)
        if key not in self._birth_numbers:
            self._birth_numbers[key] = len(self.births)
            self.births.append(_Source(line, self.frames.program, operation))
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
                f"The load of {words.plain(source.name)} in line {source.line} leaves its masked lanes undefined, and they change what line "
                f"{store} stores to {words.said(access.region)}. Say what they hold: `other=...`, a value that changes "
                "neither a maximum nor a sum it goes into."
            )
            self._find("undefined_lanes", message, source.line, access.region, places, int(reached.sum()))

    def undefined_branch(self, sources: frozenset[int]) -> None:
        """A Python `if` or `while` asked for a value that is undefined."""
        for number in sorted(sources):
            source = self.sources[number]
            message = (
                f"The load of {words.plain(source.name)} in line {source.line} leaves its masked lanes undefined, and line {self.frames.line()} "
                "decides by them. Say what they hold: `other=...`."
            )
            self._find("undefined_lanes", message, source.line, None, count=1)

    def _nan(self, access: Access, number: int, chosen: np.ndarray) -> None:
        birth = self.births[number]
        nan = np.isnan(chosen)
        message = (
            f"A NaN is born in line {birth.line}: {birth.name} made it out of operands that were not NaN"
            f"{words.NAN_WAYS.get(birth.name, '')}. From there it reaches {words.said(access.region)} in line {self.frames.line()}."
        )
        self._find(
            "nan_born", message, birth.line, access.region, access.chosen[nan], int(nan.sum()), operation=birth.name
        )

    def finish(self, regions: list[Region], outputs: tuple[str, ...]) -> None:
        """What can only be said at the end: what was never written, and what should not have been."""
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
        elements = _indices(region, missing)
        message = (
            f"{missing.size} of {region.count} elements of {words.said(region)} are never stored, the first at "
            f"{words.index(elements[0])}."
        )
        self._findings["unwritten", region.name] = Finding(
            "unwritten", message, None, None, region.name, elements, missing.size
        )

    def _modified(self, region: Region, changed: np.ndarray) -> None:
        first = int(changed[0])
        elements = _indices(region, changed)
        line = int(region.writer_line[first])
        program = words.unlinear(int(region.writer[first]), self.grid)
        message = (
            f"{words.said(region)} is an input, but line {line} stores to {changed.size} of its elements, the first at "
            f"{words.index(elements[0])}. Store to the output instead."
        )
        self._findings["modified_input", region.name] = Finding(
            "modified_input", message, line, program, region.name, elements, changed.size
        )


def _indices(region: Region, elements: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """The indices of the first few of these row-major elements."""
    return tuple(tuple(int(i) for i in np.unravel_index(int(e), region.shape)) for e in elements[:SHOWN])
