"""Where things are shown: HTML below a notebook's cell, text in a terminal."""

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
    """What can be shown, such as a panel; only the form that is needed is made."""

    def html(self) -> str: ...
    def print(self, console: Console, /) -> None: ...


@dataclass(frozen=True)
class Output:
    """One thing to show, by the two functions that make it."""

    html: Callable[[], str]
    print: Callable[[Console], None]


NOTHING = Output(lambda: "", lambda console: None)


def verdict_card(verdict: Verdict) -> Output:
    from checker.view.card import card_html
    from checker.view.terminal import print_card

    return Output(lambda: card_html(verdict), lambda console: print_card(verdict))


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


def show(thing: Showable) -> None:
    """Show one thing where the learner is: below the cell as HTML, or in the terminal."""
    if in_notebook():
        from IPython.display import HTML, display

        display(HTML(thing.html()))
    else:
        thing.print(console())


def shown(value: T) -> T:
    """`value`, which the running cell has shown already: the notebook does not print it below once more."""
    running = shell()
    if running is not None:
        object.__setattr__(value, "_shown_in_cell", running.execution_count)  # most are frozen dataclasses
        running.display_formatter.ipython_display_formatter.for_type(type(value), _print_unless_shown)
    return value


def _print_unless_shown(value: Any) -> None:
    """The one-line text of `value`, but not in the cell whose output already shows it."""
    if getattr(value, "_shown_in_cell", None) != getattr(shell(), "execution_count", 0):
        from IPython.display import display

        display({"text/plain": repr(value)}, raw=True)


class OutputArea:
    """One output below the cell whose content is replaced: first that work goes on, then what came of it.

    In a terminal there is no `handle`, and the `spinner` is gone before anything is printed.
    """

    def __init__(self, handle: Any = None, spinner: Any = None) -> None:
        self._handle, self._spinner = handle, spinner

    def show(self, thing: Showable) -> None:
        if self._handle is not None:
            from IPython.display import HTML

            self._handle.update(HTML(thing.html()))
            return
        if self._spinner is not None:
            self._spinner.stop()
        thing.print(console())


@contextlib.contextmanager
def working(message: str) -> Iterator[OutputArea]:
    """Say at once that something is being done; what the area yielded shows takes its place."""
    if in_notebook():
        from IPython.display import HTML, display

        busy = Markup('<div role="status" style="opacity:.7">{}</div>').format(message)
        handle = display(HTML(busy), display_id=True)
        try:
            yield OutputArea(handle)
        except BaseException:  # a wrong size, or the learner interrupts: nothing goes on any more
            handle.update(HTML(""))
            raise
        return
    err = console(stderr=True)
    if not err.is_terminal:
        yield OutputArea()
        return
    with err.status(message) as status:
        yield OutputArea(spinner=status)
