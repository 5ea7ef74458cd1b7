"""What `checker` adds to a notebook's session: after a NameError for a kernel of the course, which cell has to be run first.

IPython's own hooks are used, and nothing of what is there is replaced.
"""

from __future__ import annotations

from typing import Any

from checker.view import display
from checker.view.panel import Panel


def install(shell: Any) -> None:
    """Hook into `shell`, a running IPython; a second time changes nothing."""
    shell.events.register("post_run_cell", name_the_missing_cell)


def name_the_missing_cell(result: Any) -> None:
    """After a NameError for a kernel of the course, say which cell defines it. Python's own message stays as it is."""
    error = getattr(result, "error_in_exec", None)
    name = getattr(error, "name", None)
    if not isinstance(error, NameError) or not isinstance(name, str) or not name.endswith("_kernel"):
        return
    running = display.shell()
    if running is None or name in running.user_ns:  # there, but not where it was asked for
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
