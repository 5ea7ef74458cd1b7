"""Where the verbs show things: HTML below a notebook's cell, text in a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")


def shell() -> Any:
    """The running IPython shell, None where there is none."""
    ipython = sys.modules.get("IPython")
    get = getattr(ipython, "get_ipython", None)
    return get() if get is not None else None


def in_notebook() -> bool:
    """Whether outputs are shown as HTML: in Jupyter, JupyterLab, VS Code, Colab or nbclient, not in IPython's terminal."""
    return getattr(shell(), "kernel", None) is not None


def interactive() -> bool:
    """Whether a person types at this process: a notebook, IPython or the Python prompt; not a script, tests or the CLI."""
    return shell() is not None or hasattr(sys, "ps1")


def console(stderr: bool = False) -> Console:
    """A rich console for this terminal; in a notebook, too, it prints plain text."""
    from rich.console import Console

    if in_notebook():
        return Console(stderr=stderr, force_jupyter=False, width=100)
    return Console(stderr=stderr, width=None if sys.stdout.isatty() else 100)


def show(html: Callable[[], str], text: Callable[[Console], None]) -> None:
    """Show one thing where the learner is: below the cell as HTML, or in the terminal."""
    if in_notebook():
        from IPython.display import HTML, display

        display(HTML(html()))
    else:
        text(console())


def shown(value: T) -> T:
    """`value`, noted as what the running cell has shown already."""
    running = shell()
    if running is not None:
        object.__setattr__(value, "_shown_in_cell", running.execution_count)  # most are frozen dataclasses
    return value


def was_shown_here(value: object) -> bool:
    """Whether the running cell has shown `value` as a card or a panel."""
    return getattr(value, "_shown_in_cell", None) == getattr(shell(), "execution_count", 0)


class Card:
    """One output below the cell whose content is replaced: first that work goes on, then what came of it."""

    def __init__(self, handle: Any = None) -> None:
        self._handle = handle

    def show(self, html: Callable[[], str], text: Callable[[Console], None]) -> None:
        if self._handle is None:
            text(console())
        else:
            from IPython.display import HTML

            self._handle.update(HTML(html()))


@contextlib.contextmanager
def working(message: str) -> Iterator[Card]:
    """Say at once that something is being done; the card yielded takes its place."""
    if in_notebook():
        from html import escape

        from IPython.display import HTML, display

        handle = display(HTML(f'<div role="status" style="opacity:.7">{escape(message)}</div>'), display_id=True)
        try:
            yield Card(handle)
        except BaseException:  # a wrong size, or the learner interrupts: nothing goes on any more
            handle.update(HTML(""))
            raise
        return
    err = console(stderr=True)
    if not err.is_terminal:
        yield Card()
        return
    with err.status(message) as status:
        yield _Spinning(status)


class _Spinning(Card):
    """The terminal's card: the spinner is gone before anything is printed."""

    def __init__(self, status: Any) -> None:
        super().__init__()
        self._status = status

    def show(self, html: Callable[[], str], text: Callable[[Console], None]) -> None:
        self._status.stop()
        super().show(html, text)
