"""Plots by matplotlib, as inline SVG in the colours of the page.

They do not use pyplot, so that they do not affect the learner's own plots.
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
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = LIGHT["soft"]
"""The colour of axes and text. `inline_svg` replaces every colour of the light palette by a variable of the theme."""

LARGEST = 1.4
"""Pixels of a page for each point of a figure, at most."""
_COLOUR = re.compile("|".join(sorted(set(LIGHT.values()))))
_VARIABLE = {colour: f"var(--{name},{colour})" for name, colour in reversed(LIGHT.items())}
_SERIES = (("load", "o"), ("store", "s"), ("soft", "^"))
_CONTESTANTS = (("store", "o"), ("load", "s"), ("atomic", "D"), ("dot", "^"), ("soft", "v"))
"""Colours and markers, in order of use."""


@dataclass(frozen=True, repr=False)
class Plot:
    """An inline SVG for a notebook, and its `alt` text for people who cannot see it."""

    svg: Markup
    alt: str

    def __repr__(self) -> str:
        return f"<plot: {self.alt.partition('. ')[0][:200]}>"

    def _repr_html_(self) -> str:
        # set the background: the page may be light although the system is dark
        page = Markup(
            '<div class="tbt-plot" role="img" aria-label="{}" style="box-sizing:border-box;max-width:640px;padding:6px 8px;'
            'border-radius:8px;background:var(--bg)">{}{}</div>'
        )
        return str(page.format(self.alt, style_element("tbt-plot", ""), self.svg))


@dataclass(frozen=True)
class Subplot:
    """Measured `points` and predicted `laws` by name, each with a y for every `x`. Laws are drawn as lines."""

    label: str
    x: Sequence[float]
    points: Mapping[str, Sequence[float]]
    laws: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Bar:
    """A contestant's median time in seconds, and the lowest and highest of its rounds."""

    name: str
    seconds: float
    low: float
    high: float


@dataclass(frozen=True)
class Roof:
    """A GPU's limits for one dtype: bytes per second of a copy, operations per second of a matrix product."""

    gpu: str
    copy: float
    products: float


# ---- horizontal bars ---------------------------------------------------------------------------------------------------


def traffic_plot(kernels: Sequence[tuple[str, int, int]], *, title: str = "") -> Plot:
    """Predicted and counted bytes, a pair of bars per kernel: ``("online_softmax", predicted, counted)``."""
    names = [name for name, _, _ in kernels]
    left = min(0.07 + 0.0135 * max(map(len, names)), 0.4)
    figure, axes = _bar_axes(names, title, pitch=0.62, below=0.1, margins=0.53, left=left, low=0.5)
    amounts = [amount for _, *pair in kernels for amount in pair]
    widest = max(amounts) or 1
    # use the same unit for all bars
    say = size if min(amounts) >= 10**5 or widest >= 10**7 else "{:,} B".format
    for i, (_, predicted, counted) in enumerate(kernels):
        axes.barh(i - 0.19, predicted, 0.34, facecolor="none", edgecolor=LIGHT["load"], linewidth=1.4, hatch="////")
        axes.barh(i + 0.19, counted, 0.34, color=LIGHT["store"])
        ratio = f", {counted / predicted:.2f} × predicted" if predicted else ""
        words = f"{say(counted)} counted{', as predicted' if counted == predicted else ratio}"
        for y, amount, text in ((i - 0.19, predicted, f"{say(predicted)} predicted"), (i + 0.19, counted, words)):
            axes.text(amount + 0.01 * widest, y, text, va="center", fontsize=8, color=INK)
    axes.set_xlim(0, widest * 1.8)
    alt = "; ".join(f"{name}: {say(p)} predicted, {say(c)} counted" for name, p, c in kernels)
    return _plot(figure, title, f"{alt}.")


def time_plot(bars: Sequence[Bar], least: float, *, title: str = "") -> Plot:
    """The time of each contestant with its spread, and the limit `least` as a line."""
    unit, scale = ("ms", 1e3) if max(bar.seconds for bar in bars) >= 1e-3 else ("µs", 1e6)
    names = [bar.name for bar in bars]
    left = min(0.05 + 0.0145 * max(map(len, names)), 0.4)
    figure, axes = _bar_axes(names, title, pitch=0.4, below=0.42, margins=0.85, left=left)
    widest = max(bar.high for bar in bars) * scale
    for i, bar in enumerate(bars):
        length, colour = bar.seconds * scale, LIGHT["store" if i == 0 else "load"]
        axes.barh(i, length, 0.62, color=colour, alpha=1.0 if i == 0 else 0.75)
        axes.plot([bar.low * scale, bar.high * scale], [i, i], color=INK, linewidth=1.4, marker="|", markersize=7)
        axes.text(bar.high * scale + 0.015 * widest, i, f"{length:,.3g} {unit}", va="center", fontsize=8, color=INK)
    limit = least * scale
    axes.axvline(limit, color=LIGHT["warn"], linewidth=1.3, linestyle="--")
    axes.text(limit, len(bars) - 0.42, f"limit {limit:,.3g}", fontsize=7.5, color=INK, va="top", ha="center")
    axes.set_xlim(0, widest * 1.2)
    times = "; ".join(f"{bar.name}: {bar.seconds * scale:,.3g} {unit}" for bar in bars)
    return _plot(figure, title, f"{times}; no kernel goes below {limit:,.3g} {unit}.")


def levels_plot(
    levels: Mapping[str, Sequence[float]], names: Sequence[str], products: float, *, title: str = ""
) -> Plot:
    """Rates of several kernels in TFLOP/s, with a bar for each of `names` and its share of the rate of matrix `products`."""
    left = min(0.03 + 0.0125 * max(map(len, levels)), 0.5)
    figure, axes = _bar_axes(
        list(levels), title, pitch=0.5, below=0.4, margins=0.95, left=left, right=0.98, wide=6.4, fontsize=8.5
    )
    thick = 0.8 / len(names)
    for i, rates in enumerate(levels.values()):
        for j, (rate, (colour, _)) in enumerate(zip(rates, _CONTESTANTS, strict=False)):
            y = i + (j - (len(names) - 1) / 2) * thick
            axes.barh(y, rate, thick * 0.92, color=LIGHT[colour], label=names[j] if i == 0 else None)
            share = f"{rate:,.0f}, {100 * rate / products:.0f} %"
            axes.text(products * 1.03, y, share, va="center", fontsize=7.5, color=INK)
    axes.axvline(products, color=LIGHT["warn"], linewidth=1.3, linestyle="--")
    axes.set_xlim(0, products * 1.25)
    _legend(axes, loc="upper center", bbox_to_anchor=(0.3, 0.0), ncols=len(names))
    listed = "; ".join(
        f"{level}: {', '.join(f'{rate:,.0f} {name}' for name, rate in zip(names, rates, strict=False))}"
        for level, rates in levels.items()
    )
    return _plot(figure, title, f"TFLOP/s: {listed}. Products of matrices: {products:,.0f}.")


def _bar_axes(
    names: Sequence[str],
    title: str,
    *,
    pitch: float,
    below: float,
    margins: float,
    left: float,
    low: float = 0.4,
    right: float = 0.97,
    wide: float = 6.0,
    fontsize: float = 9.0,
) -> tuple[Figure, Axes]:
    """A figure with a group of horizontal bars per name, the first on top.

    `pitch`, `below`, `margins` (above and below together) and `wide` are in inches, `left` and `right` are parts of the width,
    and the axes end `low` bars below the last name.
    """
    high = pitch * len(names)
    tall = high + margins
    figure = new_figure(wide, tall)
    axes = figure.add_axes((left, below / tall, right - left, high / tall))
    axes.set_yticks(range(len(names)), names, fontsize=fontsize, color=INK)
    axes.set_ylim(len(names) - low, -0.5)
    axes.set_xticks([])
    axes.tick_params(length=0)
    _spines(axes, "left")
    if title:
        figure.text(0.01, 1 - 0.16 / tall, title, fontsize=9.5, color=INK, va="center", weight="bold")
    return figure, axes


# ---- points and lines --------------------------------------------------------------------------------------------------


def scaling_plot(subplots: Sequence[Subplot], *, unit: str, title: str = "") -> Plot:
    """How a quantity grows, in `unit`: measured points against laws, side by side on logarithmic axes."""
    from matplotlib.ticker import NullFormatter, NullLocator

    figure = _laid_out(2.4 * len(subplots) + 0.6, 2.7, title, wspace=0.09)
    row = figure.subplots(1, len(subplots), sharey=True, squeeze=False)[0]
    for axes, subplot in zip(row, subplots, strict=True):
        for (name, y), (colour, mark) in zip(subplot.points.items(), _SERIES, strict=False):
            axes.plot(subplot.x, subplot.laws[name], color=LIGHT[colour], linewidth=1.0, linestyle="--")
            axes.plot(subplot.x, y, mark, color=LIGHT[colour], markersize=6, label=name)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(list(subplot.x), [f"{x:,.0f}" for x in subplot.x])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.0f}")
        _label(axes, x=subplot.label)
    _label(row[0], y=unit)
    _legend(row[0])
    listed = "; ".join(
        f"{name} at {subplot.label} {', '.join(f'{x:g}: {v:,.0f}' for x, v in zip(subplot.x, y, strict=True))}"
        for subplot in subplots
        for name, y in subplot.points.items()
    )
    return _plot(figure, title, f"{unit}: {listed}.")


def curves_plot(curves: Mapping[str, Sequence[float]], *, x: str, y: str, title: str = "") -> Plot:
    """A line of measurements per name. The first line is the widest, so that it shows even below another."""
    figure = _laid_out(5.4, 2.7, title)
    axes = figure.subplots()
    for i, ((name, values), (colour, _)) in enumerate(zip(curves.items(), _SERIES, strict=False)):
        axes.plot(range(len(values)), values, color=LIGHT[colour], linewidth=4.0 if i == 0 else 1.5, label=name)
    axes.set_ylim(bottom=0)
    _label(axes, x, y)
    _legend(axes)
    listed = "; ".join(f"{name} from {values[0]:.2f} to {values[-1]:.2f}" for name, values in curves.items() if values)
    return _plot(figure, title, f"{y}: {listed}.")


def roofline_plot(points: Sequence[tuple[str, float]], intensity: float, roof: Roof, *, title: str = "") -> Plot:
    """Operations per second of each contestant at the case's `intensity`, in operations per byte, under a GPU's roof.

    The roof rises with the speed of a copy, up to that of matrix products (Williams et al. 2009, Roofline).
    """
    figure = _laid_out(6.0, 2.9, title)
    axes = figure.subplots()
    ridge, top = roof.products / roof.copy, roof.products / 1e12
    low, high = min(intensity, ridge) / 16, max(intensity, ridge) * 4
    axes.plot([low, ridge, high], [low * roof.copy / 1e12, top, top], color=LIGHT["warn"], linewidth=1.4)
    middle = (low * ridge) ** 0.5
    slope = f"copy, {roof.copy / 1e9:,.0f} GB/s"
    axes.text(middle * 1.3, middle * roof.copy / 1e12, slope, fontsize=8, color=INK, va="top")
    axes.text(high, top * 1.12, f"products, {top:,.0f} TFLOP/s", fontsize=8, color=INK, ha="right")
    rates = [f"{rate / 1e12:,.0f} TFLOP/s" for _, rate in points]
    for (name, rate), text, (colour, mark) in zip(points, rates, _CONTESTANTS, strict=False):
        axes.plot([intensity], [rate / 1e12], mark, color=LIGHT[colour], markersize=6, label=f"{name}, {text}")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_ylim(low * roof.copy / 1e12, top * 2)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,g}")
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:,g}")
    _label(axes, "operations per byte", "TFLOP/s")
    _legend(axes, loc="lower right")
    listed = "; ".join(f"{name}: {text}" for (name, _), text in zip(points, rates, strict=True))
    return _plot(figure, title, f"Roofline of {roof.gpu}: {listed}; the roof is at {top:,.0f}.")


def _laid_out(wide: float, tall: float, title: str, **options: Any) -> Figure:
    """A figure with constrained layout, so that no label is cut off."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = new_figure(wide, tall, layout=ConstrainedLayoutEngine(**options))
    if title:
        figure.suptitle(title, fontsize=9.5, color=INK, weight="bold", x=0.01, ha="left")
    return figure


def _label(axes: Axes, x: str = "", y: str = "") -> None:
    if x:
        axes.set_xlabel(x, fontsize=9, color=INK)
    if y:
        axes.set_ylabel(y, fontsize=9, color=INK)
    axes.tick_params(labelsize=8, colors=INK)
    _spines(axes, "left", "bottom")


# ---- what all plots share ----------------------------------------------------------------------------------------------


def new_figure(wide: float, tall: float, **options: Any) -> Figure:
    """An empty figure, its size in inches."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(wide, tall), **options)
    FigureCanvasSVG(figure)
    return figure


def _legend(axes: Axes, **options: Any) -> None:
    axes.legend(fontsize=8, frameon=False, labelcolor=INK, **options)


def _spines(axes: Axes, *sides: str) -> None:
    """Draw lines only along these sides of a subplot."""
    for side, spine in axes.spines.items():
        spine.set_visible(side in sides)
        spine.set_color(INK)


def _plot(figure: Figure, title: str, alt: str) -> Plot:
    return Plot(inline_svg(figure), f"{title + '. ' if title else ''}{alt}")


def inline_svg(figure: Figure) -> Markup:
    """The figure as deterministic SVG with real text, without XML header, metadata and fixed size."""
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
    # on a page, the `*` in matplotlib's style sheet would apply to every element
    text = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    drawn = re.search(r'viewBox="0 0 ([\d.]+)', text)
    widest = f"max-width:{float(drawn[1]) * LARGEST:.0f}px;" if drawn else ""
    shape = f'width="100%" style="{widest}stroke-linejoin:round;stroke-linecap:butt"'
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', rf"\1 {shape}", text, count=1)
    text = _COLOUR.sub(lambda match: _VARIABLE[match[0]], text)
    return Markup(re.sub(r"\n\s*", "\n", text).strip())  # noqa: S704 (matplotlib escapes the words it draws)
