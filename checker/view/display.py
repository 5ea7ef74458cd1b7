"""Show things as HTML below a notebook's cell, or as text in a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from markupsafe import Markup

from checker.submission.notebook import shell

if TYPE_CHECKING:
    from rich.console import Console

    from checker.judge.verdict import Verdict

T = TypeVar("T")


class Showable(Protocol):
    """Something to show, such as a panel, as HTML or in a terminal."""

    def html(self) -> str: ...
    def print(self, console: Console, /) -> None: ...


@dataclass(frozen=True)
class Output:
    """Something to show, by two functions."""

    html: Callable[[], str]
    print: Callable[[Console], None]


NOTHING = Output(lambda: "", lambda console: None)


def verdict_card(verdict: Verdict) -> Output:
    from checker.view.card import card_html
    from checker.view.terminal import print_card

    return Output(lambda: card_html(verdict), lambda console: print_card(verdict))


def in_notebook() -> bool:
    """Whether to show HTML: in JupyterLab, VS Code, Colab or nbclient, but not in IPython's terminal."""
    return getattr(shell(), "kernel", None) is not None


def interactive() -> bool:
    """Whether someone types into this process (a notebook, IPython or Python's prompt), as opposed to a script or the CLI."""
    return shell() is not None or hasattr(sys, "ps1")


def console(stderr: bool = False) -> Console:
    """A rich console, which prints plain text even in a notebook."""
    from rich.console import Console

    if in_notebook():
        return Console(stderr=stderr, force_jupyter=False, width=100)
    return Console(stderr=stderr, width=None if sys.stdout.isatty() else 100)


def show(thing: Showable) -> None:
    """Show something below the cell or in the terminal."""
    if in_notebook():
        from IPython.display import HTML, display

        display(HTML(thing.html()))
    else:
        thing.print(console())


def shown(value: T) -> T:
    """Mark `value` as shown by the running cell, so that the notebook does not print it again."""
    running = shell()
    if running is not None:
        object.__setattr__(value, "_shown_in_cell", running.execution_count)  # most are frozen dataclasses
        running.display_formatter.ipython_display_formatter.for_type(type(value), _print_unless_shown)
    return value


def _print_unless_shown(value: Any) -> None:
    """Print `repr(value)`, except in the cell that has already shown it."""
    if getattr(value, "_shown_in_cell", None) != getattr(shell(), "execution_count", 0):
        from IPython.display import display

        display({"text/plain": repr(value)}, raw=True)


class OutputArea:
    """An output that first says that work is going on and is then replaced by the result.

    A notebook replaces it by its `handle`; a terminal stops the `spinner` before printing.
    """

    def __init__(self, handle: Any = None, spinner: Any = None) -> None:
        self._handle, self._spinner, self.filled = handle, spinner, False

    def show(self, thing: Showable) -> None:
        self.filled = True
        if self._handle is not None:
            from IPython.display import HTML

            self._handle.update(HTML(thing.html()))
            return
        if self._spinner is not None:
            self._spinner.stop()
        thing.print(console())


@contextlib.contextmanager
def working(message: str) -> Iterator[OutputArea]:
    """Show a message during the work; whatever the yielded area shows replaces it."""
    if in_notebook():
        from IPython.display import HTML, display

        busy = Markup('<div role="status" style="opacity:.7">{}</div>').format(message)
        handle = display(HTML(busy), display_id=True)
        area = OutputArea(handle)
        try:
            yield area
        except BaseException:  # such as a wrong size, or an interrupt
            if not area.filled:
                handle.update(HTML(""))
            raise
        return
    err = console(stderr=True)
    if not err.is_terminal:
        yield OutputArea()
        return
    with err.status(message) as status:
        yield OutputArea(spinner=status)
