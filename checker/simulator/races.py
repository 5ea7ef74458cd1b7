"""Races: programs, threads of one program, or lanes of one store that touch one element, at least one of them storing."""

from __future__ import annotations

import numpy as np

from checker.simulator.access import Access
from checker.simulator.device_tensor import MANY, NOBODY, ShadowMemory
from checker.simulator.findings import Findings
from checker.simulator.recorder import Observer
from checker.simulator.trace import EventKind


class RaceDetector(Observer):
    """Reports races to `findings`. Each storage's `shadow` keeps who touched its elements, and when.

    `interval` numbers the stretches between two barriers of a program: within one, a thread may load an element before
    another thread stores it.
    """

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.program = 0
        self.interval = 0

    def start(self, program: int) -> None:
        self.program = program
        self.interval += 1

    def barrier(self) -> None:
        self.interval += 1

    def access(self, kind: EventKind, access: Access) -> None:
        shadow, where = access.tensor.shadow, access.valid_offsets + access.tensor.storage_offset
        match kind:
            case "load":
                self.load(access, shadow, where)
            case "store":
                self.store(access, shadow, where)
            case _:
                self.atomic(access, shadow, where)

    def load(self, access: Access, shadow: ShadowMemory, where: np.ndarray) -> None:
        if shadow.any_stored:
            self._check(("load", "store"), access, shadow.stored[where])
            too_soon = shadow.stored_in[where] == self.interval
            if too_soon.any():
                self.findings.add("missing_barrier", access, np.sort(access.valid_offsets[too_soon]))
        if shadow.any_updated:
            self._check(("load", "atomic"), access, shadow.updated[where])
        self._touch(shadow.loaded, where)

    def store(self, access: Access, shadow: ShadowMemory, where: np.ndarray) -> None:
        if len(where) > 1:
            ordered = np.sort(where)
            twice = ordered[1:] == ordered[:-1]
            if twice.any():
                offsets = np.unique(ordered[1:][twice]) - access.tensor.storage_offset
                self.findings.add("race_in_store", access, offsets)
        self._check(("store", "store"), access, shadow.stored[where])
        self._check(("store", "load"), access, shadow.loaded[where])
        if shadow.any_updated:
            self._check(("store", "atomic"), access, shadow.updated[where])
        self._touch(shadow.stored, where)
        shadow.stored_in[where] = self.interval
        shadow.any_stored = True

    def atomic(self, access: Access, shadow: ShadowMemory, where: np.ndarray) -> None:
        self._check(("atomic", "store"), access, shadow.stored[where])
        self._check(("atomic", "load"), access, shadow.loaded[where])
        self._touch(shadow.updated, where)
        shadow.any_updated = True

    def _check(self, kinds: tuple[EventKind, EventKind], access: Access, touched_by: np.ndarray) -> None:
        clash = (touched_by != NOBODY) & (touched_by != self.program)
        if clash.any():
            self.findings.race(kinds, access, clash, touched_by)

    def _touch(self, touched_by: np.ndarray, where: np.ndarray) -> None:
        before = touched_by[where]
        touched_by[where] = np.where((before == NOBODY) | (before == self.program), self.program, MANY)
