"""How a quantity grows: measured points against a law, one small panel per thing that is varied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from checker.view.figures import INK, svg
from checker.view.plots import Svg
from checker.view.theme import LIGHT

_MARKS = (("load", "o"), ("store", "s"), ("soft", "^"))


@dataclass(frozen=True)
class Panel:
    """One panel: `points` by name, each a y for every x; `laws` by the same names, drawn as lines."""

    label: str
    x: Sequence[float]
    points: Mapping[str, Sequence[float]]
    laws: Mapping[str, Sequence[float]]


def scaling_plot(panels: Sequence[Panel], *, unit: str, title: str = "") -> Svg:
    """Panels side by side on logarithmic axes with one common y axis, in `unit`."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

    if not panels:
        raise ValueError("scaling_plot needs at least one panel")
    figure = Figure(figsize=(2.4 * len(panels) + 0.6, 2.7), layout=ConstrainedLayoutEngine(wspace=0.09))
    FigureCanvasSVG(figure)
    axes_row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(axes_row, panels, strict=True):
        for (name, y), (colour, mark) in zip(panel.points.items(), _MARKS, strict=False):
            axes.plot(panel.x, panel.laws[name], color=LIGHT[colour], linewidth=1.0, linestyle="--")
            axes.plot(panel.x, y, mark, color=LIGHT[colour], markersize=6, label=name)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(list(panel.x)))
        axes.set_xticks(list(panel.x), [f"{x:,.0f}" for x in panel.x])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(panel.label, fontsize=9, color=INK)
        axes.tick_params(labelsize=8, colors=INK)
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.0f}")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            axes.spines[side].set_color(INK)
    axes_row[0].set_ylabel(unit, fontsize=9, color=INK)
    axes_row[0].legend(fontsize=8, frameon=False, labelcolor=INK)
    if title:
        figure.suptitle(title, fontsize=9.5, color=INK, weight="bold", x=0.01, ha="left")
    said = "; ".join(
        f"{name} at {panel.label} {', '.join(f'{x:g}: {v:,.0f}' for x, v in zip(panel.x, y, strict=True))}"
        for panel in panels
        for name, y in panel.points.items()
    )
    return Svg(svg(figure), f"{title + '. ' if title else ''}{unit}: {said}.")
