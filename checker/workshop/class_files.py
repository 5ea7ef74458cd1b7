"""Which classes are kept in a folder: one file a class, named after when it was opened."""

from __future__ import annotations

import contextlib
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path

from checker.workshop.board_store import NoClass, Store, create
from checker.workshop.wire import OPEN_FOR

FORGET_AFTER = 14 * 24 * 3600.0


def all_of(folder: Path) -> list[Path]:
    """The files of all classes, the newest first."""
    return sorted(folder.glob("class-*.sqlite"), reverse=True)


def newest(folder: Path) -> Path:
    """Raises NoClass."""
    found = all_of(folder)
    if not found:
        raise NoClass(f"there is no class in {folder}")
    return found[0]


def open_or_new(folder: Path, title: str) -> tuple[Path, Store]:
    """The class that was opened in the last 12 hours and not closed, so that one goes on after the machine slept; else a new one."""
    with contextlib.suppress(NoClass):
        path = newest(folder)
        store = Store(path)
        if not store.meta("closed", "") and time.time() - float(store.meta("opened")) < OPEN_FOR:
            return path, store
        store.close()
    path = folder / f"class-{datetime.now():%Y%m%d-%H%M%S}.sqlite"
    return path, create(path, title)


def old(folder: Path) -> list[Path]:
    """The classes that nobody needs any more, and whose learners may expect to be forgotten."""
    found = []
    for path in all_of(folder):
        with contextlib.suppress(NoClass), closing(Store(path)) as store:
            if time.time() - float(store.meta("opened")) > FORGET_AFTER:
                found.append(path)
    return found
