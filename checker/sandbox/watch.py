"""Ends a job's process from inside when a launch takes too much, where the kernel's current line is known."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

Excess = Literal["timeout", "resource_limit"]
Report = Callable[[Excess, int | None], object]
_ROUND = 0.1


class Watch(AbstractContextManager[None]):
    """Inside, the thread that entered may use `seconds` of processor time (or `by_clock`), and its process `memory` more bytes.

    Otherwise `report` is called with what was too much and the kernel's line, and the process ends at once, because the kernel might
    catch an exception. `folder` holds the kernel's module.
    """

    def __init__(
        self, report: Report, folder: Path, seconds: float, *, by_clock: bool = False, memory: int | None = None
    ) -> None:
        self._report, self._folder, self._seconds, self._memory = report, folder, seconds, memory
        self._now = time.monotonic if by_clock else time.process_time
        self._done, self._deciding = threading.Event(), threading.Lock()

    def __enter__(self) -> None:
        self._watched, self._end = threading.get_ident(), self._now() + self._seconds
        self._most = None if self._memory is None else peak_memory() + self._memory
        threading.Thread(target=self._run, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        with self._deciding:  # not while the thread reports
            self._done.set()

    def _run(self) -> None:
        while not self._done.wait(self._round()):
            with self._deciding:
                if not self._done.is_set() and (excess := self._excess()):
                    with contextlib.suppress(Exception):
                        self._report(excess, self._line())
                    os._exit(0)

    def _round(self) -> float:
        left = max(self._end - self._now(), 0.01)
        return left if self._most is None else min(left, _ROUND)

    def _excess(self) -> Excess | None:
        if self._now() >= self._end:
            return "timeout"
        return "resource_limit" if self._most is not None and peak_memory() > self._most else None

    def _line(self) -> int | None:
        frame = sys._current_frames().get(self._watched)
        stack = traceback.StackSummary.extract(traceback.walk_stack(frame), lookup_lines=False)
        return next((f.lineno for f in stack if f.filename.startswith(str(self._folder))), None)


def peak_memory() -> int:
    """The most bytes that this process has held so far; 0 where the system does not count them (Windows has Job Objects)."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
