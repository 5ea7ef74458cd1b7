"""Plots that matplotlib draws, as inline SVG in the colours of the page they stand on.

They are drawn without pyplot, so that nothing of the reader's own plots is touched.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from checker.view.formats import size
from checker.view.theme import LIGHT, style_element

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = LIGHT["soft"]
"""What axes and words are drawn in. Each colour of the light palette is exchanged for the theme's own where the plot is shown."""

_COLOUR = re.compile("|".join(sorted(set(LIGHT.values()))))
_VARIABLE = {colour: f"var(--{name},{colour})" for name, colour in reversed(LIGHT.items())}
_MARKS = (("load", "o"), ("store", "s"), ("soft", "^"))


@dataclass(frozen=True, repr=False)
class Plot:
    """An inline SVG that a notebook shows as its rich output; `alt` is for those who cannot see it."""

    svg: Markup
    alt: str

    def __repr__(self) -> str:
        return f"<plot: {self.alt.partition('. ')[0][:200]}>"

    def _repr_html_(self) -> str:
        # a ground of its own: a page may be light where the reader's system is dark
        page = Markup(
            '<div class="tbt-plot" role="img" aria-label="{}" style="box-sizing:border-box;max-width:640px;padding:6px 8px;'
            'border-radius:8px;background:var(--bg)">{}{}</div>'
        )
        return str(page.format(self.alt, style_element("tbt-plot", ""), self.svg))


@dataclass(frozen=True)
class Subplot:
    """What is varied, in `x`, and measured: `points` by name, each a y for every x; `laws` by the same names, drawn as lines."""

    label: str
    x: Sequence[float]
    points: Mapping[str, Sequence[float]]
    laws: Mapping[str, Sequence[float]]


def traffic_plot(kernels: Sequence[tuple[str, int, int]], *, title: str = "") -> Plot:
    """Predicted against counted bytes, one pair of bars per kernel: ``("online_softmax", predicted, counted)``."""
    if not kernels:
        raise ValueError("traffic_plot needs at least one kernel: its name, the bytes predicted and the bytes counted")
    tall = 0.62 * len(kernels) + 0.53
    figure = new_figure(6.0, tall)
    left = min(0.07 + 0.0135 * max(len(name) for name, _, _ in kernels), 0.4)
    axes = figure.add_axes((left, 0.1 / tall, 0.97 - left, 0.62 * len(kernels) / tall))
    amounts = [amount for _, *pair in kernels for amount in pair]
    widest = max(amounts) or 1
    # one unit for all bars, so that they compare
    say = size if min(amounts) >= 10**5 or widest >= 10**7 else "{:,} B".format
    for i, (_, predicted, counted) in enumerate(kernels):
        axes.barh(i - 0.19, predicted, 0.34, facecolor="none", edgecolor=LIGHT["load"], linewidth=1.4, hatch="////")
        axes.barh(i + 0.19, counted, 0.34, color=LIGHT["store"])
        ratio = f", {counted / predicted:.2f} × predicted" if predicted else ""
        words = f"{say(counted)} counted{', as predicted' if counted == predicted else ratio}"
        for y, amount, text in ((i - 0.19, predicted, f"{say(predicted)} predicted"), (i + 0.19, counted, words)):
            axes.text(amount + 0.01 * widest, y, text, va="center", fontsize=8, color=INK)
    axes.set_yticks(range(len(kernels)), [name for name, _, _ in kernels], fontsize=9, color=INK)
    axes.set_ylim(len(kernels) - 0.5, -0.5)
    axes.set_xlim(0, widest * 1.8)
    axes.set_xticks([])
    axes.tick_params(length=0)
    spines(axes, "left")
    if title:
        figure.text(0.01, 1 - 0.16 / tall, title, fontsize=9.5, color=INK, va="center", weight="bold")
    alt = "; ".join(f"{name}: {say(p)} predicted, {say(c)} counted" for name, p, c in kernels)
    return Plot(inline_svg(figure), f"{title + '. ' if title else ''}{alt}.")


def scaling_plot(subplots: Sequence[Subplot], *, unit: str, title: str = "") -> Plot:
    """How a quantity grows, measured points against a law: side by side on logarithmic axes with one y axis, in `unit`."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

    if not subplots:
        raise ValueError("scaling_plot needs at least one subplot")
    figure = new_figure(2.4 * len(subplots) + 0.6, 2.7, layout=ConstrainedLayoutEngine(wspace=0.09))
    row = figure.subplots(1, len(subplots), sharey=True, squeeze=False)[0]
    for axes, subplot in zip(row, subplots, strict=True):
        for (name, y), (colour, mark) in zip(subplot.points.items(), _MARKS, strict=False):
            axes.plot(subplot.x, subplot.laws[name], color=LIGHT[colour], linewidth=1.0, linestyle="--")
            axes.plot(subplot.x, y, mark, color=LIGHT[colour], markersize=6, label=name)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(list(subplot.x)))
        axes.set_xticks(list(subplot.x), [f"{x:,.0f}" for x in subplot.x])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(subplot.label, fontsize=9, color=INK)
        axes.tick_params(labelsize=8, colors=INK)
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.0f}")
        spines(axes, "left", "bottom")
    row[0].set_ylabel(unit, fontsize=9, color=INK)
    row[0].legend(fontsize=8, frameon=False, labelcolor=INK)
    if title:
        figure.suptitle(title, fontsize=9.5, color=INK, weight="bold", x=0.01, ha="left")
    said = "; ".join(
        f"{name} at {subplot.label} {', '.join(f'{x:g}: {v:,.0f}' for x, v in zip(subplot.x, y, strict=True))}"
        for subplot in subplots
        for name, y in subplot.points.items()
    )
    return Plot(inline_svg(figure), f"{title + '. ' if title else ''}{unit}: {said}.")


def curves_plot(curves: Mapping[str, Sequence[float]], *, x: str, y: str, title: str = "") -> Plot:
    """Numbers that were measured one step after another, a line for each name. The first is the widest: it is seen below another that lies on it."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if not curves:
        raise ValueError("curves_plot needs at least one curve")
    figure = new_figure(5.4, 2.7, layout=ConstrainedLayoutEngine())
    axes = figure.subplots()
    for i, ((name, values), (colour, _)) in enumerate(zip(curves.items(), _MARKS, strict=False)):
        axes.plot(range(len(values)), values, color=LIGHT[colour], linewidth=4.0 if i == 0 else 1.5, label=name)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(x, fontsize=9, color=INK)
    axes.set_ylabel(y, fontsize=9, color=INK)
    axes.tick_params(labelsize=8, colors=INK)
    axes.legend(fontsize=8, frameon=False, labelcolor=INK)
    spines(axes, "left", "bottom")
    if title:
        figure.suptitle(title, fontsize=9.5, color=INK, weight="bold", x=0.01, ha="left")
    said = "; ".join(f"{name} from {values[0]:.2f} to {values[-1]:.2f}" for name, values in curves.items() if values)
    return Plot(inline_svg(figure), f"{title + '. ' if title else ''}{y}: {said}.")


def new_figure(wide: float, tall: float, **options: Any) -> Figure:
    """An empty figure, its size in inches."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(wide, tall), **options)
    FigureCanvasSVG(figure)
    return figure


def inline_svg(figure: Figure) -> Markup:
    """The figure with real text, without the XML head, metadata and a fixed size; same figure, same text."""
    import matplotlib

    out = io.StringIO()
    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "tile-by-tile",
        "hatch.linewidth": 0.7,
        "hatch.color": LIGHT["load"],
    }
    with matplotlib.rc_context(settings):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    # matplotlib's style sheet is meant for a file: in a page its `*` would reach every element there is
    text = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    shape = 'width="100%" style="stroke-linejoin:round;stroke-linecap:butt"'
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', rf"\1 {shape}", text, count=1)
    text = _COLOUR.sub(lambda match: _VARIABLE[match[0]], text)
    return Markup(re.sub(r"\n\s*", "\n", text).strip())  # noqa: S704 (matplotlib escapes the words it draws)


def spines(axes: Any, *sides: str) -> None:
    """Lines along these sides of a subplot, and no others."""
    for side, spine in axes.spines.items():
        spine.set_visible(side in sides)
        spine.set_color(INK)
