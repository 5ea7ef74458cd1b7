"""What a process and its children use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress

import psutil


def tree(pid: int) -> Iterator[psutil.Process]:
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        yield from (process, *process.children(recursive=True))


def memory(pid: int) -> float:
    """MB of a process tree: its share of every page (PSS)."""
    total = 0.0
    for process in tree(pid):
        with suppress(psutil.Error):  # it has ended
            total += process.memory_full_info().pss / 2**20
    return total


def processor(pid: int) -> float:
    """Processor seconds of a process tree, including children that have ended."""
    total = 0.0
    for process in tree(pid):
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


class Watch:
    """The largest memory of a process tree, in MB, while it is open."""

    def __init__(self, pid: int) -> None:
        self.peak = 0.0
        self._pid, self._over = pid, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._over.wait(0.1):
            self.peak = max(self.peak, memory(self._pid))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
