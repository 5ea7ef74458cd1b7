"""Drop-down lists that film a kernel again at another size or tile width."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from checker.puzzle import Case, Puzzle
from checker.submission.kernel import KernelSource

NO_WIDGETS = Markup(
    '<p class="tbt-note">To try other sizes here, install ipywidgets (<code>pip install ipywidgets</code>) and restart the '
    "kernel. The film works without it.</p>"
)
BUSY = "<small>Running the kernel again …</small>"


def case_with(case: Case, values: Mapping[str, int]) -> Case:
    """The case with other sizes, tile widths or flags. Raises KeyError for any other name."""
    parts: dict[str, dict[str, Any]] = {"sizes": dict(case.sizes), "meta": dict(case.meta), "flags": dict(case.flags)}
    for name, value in values.items():
        home = next((part for part in parts.values() if name in part), None)
        if home is None:
            raise KeyError(f"the film's case has no size, tile width or flag called {name!r}")
        home[name] = type(home[name])(value)
    return replace(case, sizes=parts["sizes"], meta=parts["meta"], flags=parts["flags"])


def film_controls(
    kernel_source: KernelSource, puzzle: Puzzle, run: Callable[[Case], str], area: Callable[[str], None]
) -> Any:
    """Drop-down lists from `FilmSpec.choices`, as an `ipywidgets.Widget`; `area` shows the film that `run` makes of a choice, or why not.

    The area holds plain HTML, so that a saved notebook shows the film without widgets. If ipywidgets is missing, this only
    shows how to install it and returns None.
    """
    try:
        import ipywidgets as widgets
    except ImportError:
        from IPython.display import HTML, display

        display(HTML(NO_WIDGETS))
        return None
    case = puzzle.film.case
    current = {**case.sizes, **case.meta, **case.flags}
    lists = {
        name: widgets.Dropdown(
            options=sorted({*choices, int(current[name])}),
            value=int(current[name]),
            description=name,
            layout=widgets.Layout(width="170px"),
            style={"description_width": "80px"},
        )
        for name, choices in puzzle.film.choices.items()
        if name in current
    }
    invitation = Markup("<small>Film <code>{}</code> at another size (this replaces the film above):</small>")
    status = widgets.HTML(invitation.format(kernel_source.kernel))

    def changed(_: Any) -> None:
        if status.value == BUSY:
            return
        before, status.value = status.value, BUSY
        for box in lists.values():
            box.disabled = True
        chosen = case_with(case, {name: box.value for name, box in lists.items()})
        try:
            html = run(chosen)
        except Exception as error:
            words = Markup('<p role="alert"><b>No film for {}:</b> {}</p>')
            html = words.format(chosen.name, str(error) or type(error).__name__)
        finally:
            for box in lists.values():
                box.disabled = False
            status.value = before
        area(html)

    for box in lists.values():
        box.observe(changed, names="value")
    row = widgets.HBox(list(lists.values()), layout=widgets.Layout(flex_flow="row wrap"))
    return widgets.VBox([status, row])
