"""Who touched each element, and whether two programs (or two lanes of one store) meet there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from checker.simulator.access import Access
    from checker.simulator.findings import Findings

NOBODY, MANY = -1, -2


class Shadow:
    """Who touched each element of one storage: the program that stored, loaded or updated it, NOBODY or MANY."""

    def __init__(self, elements: int, item: int) -> None:
        self.item = item
        self.stored = np.full(elements, NOBODY, np.int64)
        self.loaded = np.full(elements, NOBODY, np.int64)
        self.updated = np.full(elements, NOBODY, np.int64)  # by atomics
        self.any_stored = False
        self.any_updated = False


def touch(who: np.ndarray, where: np.ndarray, me: int) -> None:
    """Add program `me` to those who touched elements `where`."""
    before = who[where]
    who[where] = np.where((before == NOBODY) | (before == me), me, MANY)


def others(who: np.ndarray, where: np.ndarray, me: int) -> np.ndarray:
    """Which of the elements `where` some program other than `me` touched."""
    seen = who[where]
    return (seen != NOBODY) & (seen != me)


def check_load(access: Access, me: int, findings: Findings) -> None:
    shadow = access.region.shadow
    where = access.chosen + access.region.offset
    if shadow.any_stored:
        clash = others(shadow.stored, where, me)
        if clash.any():
            findings.race("loads what another program stores", access, clash, shadow.stored, where)
    if shadow.any_updated:
        clash = others(shadow.updated, where, me)
        if clash.any():
            findings.race("loads what another program updates atomically", access, clash, shadow.updated, where)
    touch(shadow.loaded, where, me)


def check_store(access: Access, me: int, findings: Findings) -> None:
    shadow, region = access.region.shadow, access.region
    where = access.chosen + region.offset
    if len(where) > 1:
        ordered = np.sort(where)
        twice = ordered[1:] == ordered[:-1]
        if twice.any():
            places = ordered[1:][twice] - region.offset
            findings.race_in_store(access, places)
    for who, what in (
        (shadow.stored, "stores what another program also stores"),
        (shadow.loaded, "stores what another program loads"),
        (shadow.updated, "stores what another program updates atomically"),
    ):
        if who is shadow.updated and not shadow.any_updated:
            continue
        clash = others(who, where, me)
        if clash.any():
            findings.race(what, access, clash, who, where)
    touch(shadow.stored, where, me)
    shadow.any_stored = True


def check_atomic(access: Access, me: int, findings: Findings) -> None:
    shadow = access.region.shadow
    where = access.chosen + access.region.offset
    for who, what in ((shadow.stored, "stores"), (shadow.loaded, "loads")):
        clash = others(who, where, me)
        if clash.any():
            findings.race(f"updates atomically what another program {what} plainly", access, clash, who, where)
    touch(shadow.updated, where, me)
    shadow.any_updated = True
