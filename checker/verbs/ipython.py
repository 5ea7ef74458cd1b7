"""Hooks into a notebook's session: record when each cell ran, simulate launches, and explain a NameError for a kernel.

They use IPython's own events.
"""

from __future__ import annotations

import contextlib
import math
import time
from typing import Any

from checker.view import display
from checker.view.panel import Panel

QUEUED = 0.3
"""A cell that starts within so many seconds of the previous one's end was queued: nobody read the output in between."""


class Session:
    """When the cells of a session ran."""

    def __init__(self) -> None:
        self.ended = -math.inf
        self.queued = False
        self.ran: dict[int, float] = {}
        """When each cell ended, by its number, in seconds since the epoch."""

    def starts(self, info: Any) -> None:
        if "triton" in getattr(info, "raw_cell", ""):
            with contextlib.suppress(ImportError):  # the cell itself or doctor says what is missing
                import checker.lens  # noqa: F401 (launches on CPU tensors work from here on)
        self.queued = time.monotonic() - self.ended < QUEUED

    def ends(self, result: Any) -> None:
        self.ended = time.monotonic()
        if result.execution_count is not None:
            self.ran[result.execution_count] = time.time()


def install(shell: Any) -> None:
    """Hook into `shell`, a running IPython, unless that was done before."""
    if session() is not None:
        return
    shell.tile_by_tile = Session()
    shell.events.register("pre_run_cell", shell.tile_by_tile.starts)
    shell.events.register("post_run_cell", shell.tile_by_tile.ends)
    shell.events.register("post_run_cell", name_the_missing_cell)


def session() -> Session | None:
    """The running notebook's session; None outside a notebook."""
    return getattr(display.shell(), "tile_by_tile", None)


def ran_with_others() -> bool:
    """Whether the running cell was queued behind another, as after "Run all"."""
    running = session()
    return running is not None and running.queued


def name_the_missing_cell(result: Any) -> None:
    """After a NameError for a kernel of the course, show which cell to run. Python's own message stays."""
    error = getattr(result, "error_in_exec", None)
    name = getattr(error, "name", None)
    if not isinstance(error, NameError) or not isinstance(name, str) or not name.endswith("_kernel"):
        return
    running = display.shell()
    if running is None or name in running.user_ns:  # it is defined, but in another scope
        return
    from checker.course import KERNELS
    from checker.submission.notebook import unfinished

    if name not in KERNELS:
        return
    broken = unfinished(name)
    if broken is not None:
        advice = f"{broken.message[:1].upper()}{broken.message[1:]}. Fix and run that cell, then run this one again."
    else:
        advice = f"Run the cell above that defines `{name}` first, then run this one again."
    Panel(f"{name} is not defined yet", (advice,)).show()
