"""What `checker` adds to a notebook's session, through IPython's own hooks; nothing of what is there is replaced.

A verb's return value is not printed below the panel that the verb has just shown, and after a NameError for a kernel of the
course one more line says which cell has to be run first.
"""

from __future__ import annotations

from typing import Any

from checker.verbs import display, panels

RETURNED = (
    ("checker.judge.verdict", "Verdict"),
    ("checker.verbs.returned", "Film"),
    ("checker.verbs.returned", "Report"),
    ("checker.verbs.returned", "Standing"),
    ("checker.verbs.hints", "Help"),
    ("checker.verbs.panels", "Panel"),
    ("checker.verbs.resetting", "Reset"),
)
"""The types that verbs return after they have shown the same as a card or a panel; by name, so that none is imported early."""


def install(shell: Any) -> None:
    """Hook into `shell`, a running IPython; a second time changes nothing."""
    for module, name in RETURNED:
        shell.display_formatter.ipython_display_formatter.for_type_by_name(module, name, _print_unless_shown)
    shell.events.register("post_run_cell", name_the_missing_cell)


def _print_unless_shown(value: Any) -> None:
    """The one-line text of a verb's result, but not in the cell whose output already shows it."""
    if not display.was_shown_here(value):
        from IPython.display import display as show

        show({"text/plain": repr(value)}, raw=True)


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
    panels.Panel(f"There is no {name} yet", (first,)).show()
