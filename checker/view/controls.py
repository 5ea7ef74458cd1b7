"""Drop-down lists that run a film again at another size or tile width."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from checker.puzzle import Case, Puzzle
from checker.submission.kernel import KernelSource

Area = Callable[[str], None]
"""Replaces the film that is shown by HTML."""
Run = Callable[[Case], str]
"""From a case to the HTML of its film; may raise, and the message is then shown in place of the film."""

NO_WIDGETS = Markup(
    '<p class="tbt-note">To try other sizes here, install ipywidgets (<code>pip install ipywidgets</code>) and restart the '
    "kernel. The film works without it.</p>"
)
BUSY = "<small>Running the kernel again …</small>"


def case_with(case: Case, chosen: Mapping[str, int]) -> Case:
    """The case with some sizes, tile widths or flags changed. Raises KeyError for any other name."""
    parts: dict[str, dict[str, Any]] = {"sizes": dict(case.sizes), "meta": dict(case.meta), "flags": dict(case.flags)}
    for name, value in chosen.items():
        home = next((part for part in parts.values() if name in part), None)
        if home is None:
            raise KeyError(f"the film's case has no size, tile width or flag called {name!r}")
        home[name] = type(home[name])(value)
    return replace(case, sizes=parts["sizes"], meta=parts["meta"], flags=parts["flags"])


def safe_film(run: Run, case: Case) -> Markup:
    """The film of a case, or a paragraph that says why there is none."""
    try:
        return Markup(run(case))  # noqa: S704 (a film is HTML)
    except Exception as error:
        return Markup('<p role="alert"><b>No film for {}:</b> {}</p>').format(
            case.name, str(error) or type(error).__name__
        )


def film_controls(kernel_source: KernelSource, puzzle: Puzzle, run: Run, area: Area) -> Any:
    """Drop-down lists from `FilmSpec.choices`, which put another film into `area`. Returns an `ipywidgets.Widget`.

    The area holds plain HTML, so that a saved notebook shows it without widgets. Without ipywidgets there is only a
    sentence that says how to get more, and None is returned.
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
    invitation = Markup("<small>Film <code>{}</code> at another size; the new film replaces the one above:</small>")
    status = widgets.HTML(invitation.format(kernel_source.kernel))

    def changed(_: Any) -> None:
        if status.value == BUSY:
            return
        before, status.value = status.value, BUSY
        for box in lists.values():
            box.disabled = True
        try:
            html = safe_film(run, case_with(case, {name: box.value for name, box in lists.items()}))
        finally:
            for box in lists.values():
                box.disabled = False
            status.value = before
        area(html)

    for box in lists.values():
        box.observe(changed, names="value")
    row = widgets.HBox(list(lists.values()), layout=widgets.Layout(flex_flow="row wrap"))
    return widgets.VBox([status, row])
