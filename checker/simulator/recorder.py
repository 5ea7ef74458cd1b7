"""Writes down what programs did: events, bytes, and through `findings` what was wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from checker.simulator import boxes
from checker.simulator.findings import Findings
from checker.simulator.frames import Frames, Place
from checker.simulator.state import state
from checker.simulator.trace import Event, EventKind, SimulateOptions, Traffic

if TYPE_CHECKING:
    from checker.simulator.access import Access


@dataclass
class _Count:
    loaded: int = 0
    stored: int = 0
    loads: int = 0
    stores: int = 0


@dataclass
class Recorder:
    """Everything a launch leaves behind."""

    options: SimulateOptions
    frames: Frames
    findings: Findings
    given: dict[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    counts: dict[str, _Count] = field(default_factory=dict)

    def watch(self, name: str) -> None:
        """Count what passes between the kernel and the tensor `name`, from nothing."""
        self.counts[name] = _Count()

    def load(self, access: Access, undefined: bool) -> int:
        count = self.counts[access.region.name]
        count.loads += 1
        count.loaded += access.bytes
        return self._access("load", access, undefined)

    def store(self, access: Access) -> int:
        count = self.counts[access.region.name]
        count.stores += 1
        count.stored += access.bytes
        return self._access("store", access) or self.frames.line()

    def atomic(self, access: Access) -> int:
        count = self.counts[access.region.name]
        count.loads += 1
        count.stores += 1
        count.loaded += access.bytes
        count.stored += access.bytes
        return self._access("atomic", access) or self.frames.line()

    def _access(self, kind: EventKind, access: Access, undefined: bool = False) -> int:
        """Record one access; returns its line where that had to be found out, else 0."""
        wanted = self.options.events
        stray = access.good is not None and (access.active is None or bool((access.active & ~access.good).any()))
        if not (wanted or stray or undefined):
            return 0
        place = self.frames.place()
        if stray:
            self.findings.out_of_bounds(kind, access, place)
        if wanted:
            off = 0 if access.active is None else int((~access.active).sum())
            self._event(
                kind,
                access.region.name,
                place,
                tile=boxes.tile_of(access),
                bytes=access.bytes,
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
            program=self.frames.program,
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

    def traffic(self) -> dict[str, Traffic]:
        return {name: Traffic(c.loaded, c.stored, c.loads, c.stores) for name, c in self.counts.items()}
