"""Races: programs, threads of one program, or lanes of one store that touch one element, at least one of them storing."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from checker.simulator.access import Access
from checker.simulator.device_tensor import MANY, NOBODY, ShadowMemory
from checker.simulator.findings import Findings
from checker.simulator.recorder import Observer
from checker.simulator.trace import EventKind, Order

Clock = dict[int, int]
"""For each program, by linear id, the last interval that has ended before something else begins."""


class RaceDetector(Observer):
    """Reports races to `findings`. Each storage's `shadow` keeps the interval in which its elements were touched.

    Intervals lie between two barriers of a program, and are numbered through the launch in steps of two. Within one, a thread may
    load an element before another thread stores it. What one thread does alone counts as done in the number before.

    Programs run at the same time, but locks and counters order what they do: a program that releases an element by an atomic has
    done everything before the last barrier, for each program that acquires the element by an atomic and then decides a branch.
    The same thread that does the atomic has also done what one thread does alone; the others may not be through with the tiles.
    """

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.interval = 0
        self.programs: list[int] = []
        self.firsts: list[int] = []
        """The first interval of each of these programs."""
        self.released: dict[tuple[int, int], Clock] = {}
        """What has been done when an element, of a storage, was released."""
        self.before: Clock = {}
        """What has been done before the running program goes on."""
        self.acquired: list[Clock] = []
        """What joins `before` with the next branch."""
        self.releases: dict[int, tuple[int, str]] = {}
        """The line and the tensor of the release that ended an interval."""

    def start(self, program: int) -> None:
        self.interval += 2
        self.programs.append(program)
        self.firsts.append(self.interval - 1)
        self.before, self.acquired = {}, []

    def barrier(self) -> None:
        self.interval += 2

    def discarded(self) -> None:
        self.acquired = []

    def branch(self) -> None:
        for clock in self.acquired:
            self.before |= {p: max(clock[p], self.before.get(p, 0)) for p in clock}
        self.acquired = []

    def synchronise(self, access: Access, order: Order) -> None:
        """One element that is updated atomically can be a lock or a counter; a tile of them is a sum."""
        if len(access.valid_offsets) != 1 or order == "relaxed":
            return
        element = id(access.tensor.shadow), int(access.valid_offsets[0] + access.tensor.storage_offset)
        if order != "release" and element in self.released:
            self.acquired.append(dict(self.released[element]))
        if order != "acquire":
            self.releases[self.interval] = self.findings.locator.line(), access.tensor.name
            done = self.before | {self.programs[-1]: self.interval - 1}
            clock = self.released.setdefault(element, {})
            clock |= {p: max(done[p], clock.get(p, 0)) for p in done}

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
            too_soon = shadow.stored[where] >= self.interval - 1
            if too_soon.any():
                self.findings.add("missing_barrier", access, np.sort(access.valid_offsets[too_soon]))
        if shadow.any_updated:
            self._check(("load", "atomic"), access, shadow.updated[where])
        self._touch(shadow.loaded, where, access)

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
        self._touch(shadow.stored, where, access)
        shadow.any_stored = True

    def atomic(self, access: Access, shadow: ShadowMemory, where: np.ndarray) -> None:
        self._check(("atomic", "store"), access, shadow.stored[where])
        self._check(("atomic", "load"), access, shadow.loaded[where])
        self._touch(shadow.updated, where, access)
        shadow.any_updated = True

    def _check(self, kinds: tuple[EventKind, EventKind], access: Access, touched_in: np.ndarray) -> None:
        done, early = self._done(touched_in)
        clash = ~done
        if clash.any():
            interval = int(touched_in[clash][0])
            self.findings.race(kinds, access, clash, None if interval == MANY else self._program_of(interval))
        if early.any():
            interval = int(touched_in[early][0])
            line, lock = self.releases[interval]
            self.findings.early_release(line, lock, access, early, self._program_of(interval))

    def _touch(self, touched_in: np.ndarray, where: np.ndarray, access: Access) -> None:
        alone = access.offsets.size == 1
        touched_in[where] = np.where(self._done(touched_in[where])[0], self.interval - alone, MANY)

    def _done(self, touched_in: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of these accesses nobody made, the running program itself made, or another program has made before.

        Also those among them that other threads may still have to make, since their program released too early.
        """
        done: np.ndarray = (touched_in == NOBODY) | (touched_in >= self.firsts[-1])
        early = np.zeros_like(done)
        if self.before and not done.all():
            others = [int(interval) for interval in np.unique(touched_in[~done])]
            ends = {i: self.before.get(self._program_of(i), NOBODY) for i in others if i != MANY}
            early = np.isin(touched_in, [i for i, end in ends.items() if i == end + 1]) & ~done
            done |= early | np.isin(touched_in, [i for i, end in ends.items() if i <= end])
        return done, early

    def _program_of(self, interval: int) -> int:
        return self.programs[bisect_right(self.firsts, interval) - 1]
