"""What `checker` adds to a notebook's session: when each cell ran, and after a NameError for a kernel which cell to run first.

IPython's own hooks are used, and nothing of what is there is replaced.
"""

from __future__ import annotations

import math
import time
from typing import Any

from checker.view import display
from checker.view.panel import Panel

QUEUED = 0.3
"""A cell that starts so few seconds after the one before it was waiting for it: nobody read what came out of that."""


class Session:
    """When the cells of a session ran."""

    def __init__(self) -> None:
        self.ended = -math.inf
        self.waited = False
        self.ran: dict[int, float] = {}
        """By number, when a cell ended, as `time.time` counts."""

    def starts(self, _: Any) -> None:
        self.waited = time.monotonic() - self.ended < QUEUED

    def ends(self, result: Any) -> None:
        self.ended = time.monotonic()
        if result.execution_count is not None:
            self.ran[result.execution_count] = time.time()


def install(shell: Any) -> None:
    """Hook into `shell`, a running IPython; a second time changes nothing."""
    if session() is not None:
        return
    shell.tile_by_tile = Session()
    shell.events.register("pre_run_cell", shell.tile_by_tile.starts)
    shell.events.register("post_run_cell", shell.tile_by_tile.ends)
    shell.events.register("post_run_cell", name_the_missing_cell)


def session() -> Session | None:
    """The running notebook's, None outside of one."""
    return getattr(display.shell(), "tile_by_tile", None)


def ran_with_others() -> bool:
    """Whether the running cell had been waiting for the one before it, as after "Run all"."""
    found = session()
    return found is not None and found.waited


def name_the_missing_cell(result: Any) -> None:
    """After a NameError for a kernel of the course, say which cell defines it. Python's own message stays as it is."""
    error = getattr(result, "error_in_exec", None)
    name = getattr(error, "name", None)
    if not isinstance(error, NameError) or not isinstance(name, str) or not name.endswith("_kernel"):
        return
    running = display.shell()
    if running is None or name in running.user_ns:  # defined, but not in the scope that needed it
        return
    from checker.course import KERNELS
    from checker.submission.notebook import unfinished

    if name not in KERNELS:
        return
    broken = unfinished(name)
    if broken is not None:
        first = f"{broken.message[:1].upper()}{broken.message[1:]}. Mend that cell and run it, then this one again."
    else:
        first = f"Run the cell above that defines `{name}` first, then this one again."
    Panel(f"There is no {name} yet", (first,)).show()
