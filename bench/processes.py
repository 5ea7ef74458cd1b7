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


def memory(pid: int, kind: str = "pss") -> float:
    """MB of a process tree: its share of every page (``pss``), or what it shares with nobody (``uss``)."""
    total = 0.0
    for process in tree(pid):
        with suppress(psutil.Error):  # it has ended
            total += getattr(process.memory_full_info(), kind) / 2**20
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
    """The largest memory of some process trees together, in MB, while it is open."""

    def __init__(self, pids: list[int]) -> None:
        self.peak = 0.0
        self._pids, self._over = pids, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._over.wait(0.1):
            self.peak = max(self.peak, sum(map(memory, self._pids)))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
