"""Controls that run a film again at another size or tile width."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from checker.puzzle import Case, Puzzle
from checker.submission.kernel import KernelSource
from checker.view.theme import escape

Run = Callable[[Case], str]
"""From a case to the HTML of its film; may raise, and the message is then shown in place of the film."""

NO_WIDGETS = (
    '<p class="tbt-note">To try other sizes here, install ipywidgets (<code>pip install ipywidgets</code>) and restart the '
    "kernel. The film works without it.</p>"
)


def case_with(case: Case, chosen: Mapping[str, int]) -> Case:
    """The case with some sizes, tile widths or flags changed, and a name that says so."""
    parts: dict[str, dict[str, Any]] = {"sizes": dict(case.sizes), "meta": dict(case.meta), "flags": dict(case.flags)}
    for name, value in chosen.items():
        home = next((part for part in parts.values() if name in part), None)
        if home is None:
            raise KeyError(f"the film's case has no size, tile width or flag called {name!r}")
        home[name] = type(home[name])(value)
    name = ", ".join(f"{k} = {v}" for part in parts.values() for k, v in part.items())
    return replace(case, name=name, sizes=parts["sizes"], meta=parts["meta"], flags=parts["flags"])


def film_controls(kernel_source: KernelSource, puzzle: Puzzle, run: Run, *, first: bool = True) -> Any:
    """Drop-down lists from `FilmSpec.choices` above a film that `run` makes anew; returns an `ipywidgets.Widget`.

    The first film is displayed as plain HTML as well (`first`), so that a saved notebook shows it without widgets. Without
    ipywidgets the plain film is all there is, with a sentence that says how to get more, and None is returned.
    """
    from IPython.display import HTML, display

    case = puzzle.film.case
    html = safe_film(run, case)
    try:
        import ipywidgets
    except ImportError:
        display(HTML(html + NO_WIDGETS))
        return None
    if first:
        display(HTML(html))
    return _Controls(ipywidgets, kernel_source.kernel, puzzle, run, html if not first else "").box


def safe_film(run: Run, case: Case) -> str:
    """The film of a case, or a paragraph that says why there is none."""
    try:
        return run(case)
    except Exception as error:
        text = str(error) or type(error).__name__
        return f'<p role="alert"><b>No film for {escape(case.name)}:</b> {escape(text)}</p>'


class _Controls:
    """Lists, a line of status, and the place where the film goes."""

    def __init__(self, widgets: Any, kernel: str, puzzle: Puzzle, run: Run, html: str) -> None:
        self._case, self._run, self._busy = puzzle.film.case, run, False
        current = {**self._case.sizes, **self._case.meta, **self._case.flags}
        self.lists = {
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
        self.status = widgets.HTML(f"<small>Film <code>{escape(kernel)}</code> at another size:</small>")
        self.film = widgets.Output()
        row = widgets.HBox(list(self.lists.values()), layout=widgets.Layout(flex_flow="row wrap"))
        self.box = widgets.VBox([self.status, row, self.film])
        if html:
            self._show(html)
        for box in self.lists.values():
            box.observe(self._changed, names="value")

    def _changed(self, _: Any) -> None:
        if self._busy:
            return
        self._busy = True
        before = self.status.value
        self.status.value = "<small>Running the kernel again …</small>"
        for box in self.lists.values():
            box.disabled = True
        try:
            self._show(safe_film(self._run, case_with(self._case, {n: box.value for n, box in self.lists.items()})))
        finally:
            for box in self.lists.values():
                box.disabled = False
            self.status.value, self._busy = before, False

    def _show(self, html: str) -> None:
        bundle = {"text/html": html, "text/plain": "film"}
        # set as data, not with display(): a callback's prints and displays would go elsewhere
        self.film.outputs = ({"output_type": "display_data", "data": bundle, "metadata": {}},)
