"""Speed as plots: the time of each contestant of `bench`, where each stands under the roof of its GPU, and kernels level by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from checker.view.plots import INK, Plot, inline_svg, new_figure, spines
from checker.view.theme import LIGHT

_MARKS = (("store", "o"), ("load", "s"), ("atomic", "D"), ("dot", "^"), ("soft", "v"))


@dataclass(frozen=True)
class Bar:
    """One contestant: seconds, and the lowest and highest of its rounds."""

    name: str
    seconds: float
    low: float
    high: float


@dataclass(frozen=True)
class Roof:
    """Of a GPU, for one dtype: bytes per second of a copy, operations per second of a product of matrices."""

    gpu: str
    copy: float
    products: float


def time_plot(bars: Sequence[Bar], least: float, *, title: str = "") -> Plot:
    """The time of each contestant, with its spread; `least` is what no kernel goes below, drawn as a line."""
    if not bars:
        raise ValueError("time_plot needs at least one bar")
    unit, scale = ("ms", 1e3) if max(bar.seconds for bar in bars) >= 1e-3 else ("µs", 1e6)
    tall = 0.4 * len(bars) + 0.85
    figure = new_figure(6.0, tall)
    left = min(0.05 + 0.0145 * max(len(bar.name) for bar in bars), 0.4)
    axes = figure.add_axes((left, 0.42 / tall, 0.97 - left, 0.4 * len(bars) / tall))
    widest = max(bar.high for bar in bars) * scale
    for i, bar in enumerate(bars):
        length, colour = bar.seconds * scale, LIGHT["store" if i == 0 else "load"]
        axes.barh(i, length, 0.62, color=colour, alpha=1.0 if i == 0 else 0.75)
        axes.plot([bar.low * scale, bar.high * scale], [i, i], color=INK, linewidth=1.4, marker="|", markersize=7)
        axes.text(bar.high * scale + 0.015 * widest, i, f"{length:,.3g} {unit}", va="center", fontsize=8, color=INK)
    axes.axvline(least * scale, color=LIGHT["warn"], linewidth=1.3, linestyle="--")
    axes.text(
        least * scale, len(bars) - 0.42, f"limit {least * scale:,.3g}", fontsize=7.5, color=INK, va="top", ha="center"
    )
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars], fontsize=9, color=INK)
    axes.set_ylim(len(bars) - 0.4, -0.5)
    axes.set_xlim(0, widest * 1.2)
    axes.set_xticks([])
    axes.tick_params(length=0)
    spines(axes, "left")
    if title:
        figure.text(0.01, 1 - 0.16 / tall, title, fontsize=9.5, color=INK, va="center", weight="bold")
    said = "; ".join(f"{bar.name}: {bar.seconds * scale:,.3g} {unit}" for bar in bars)
    return Plot(
        inline_svg(figure), f"{title + '. ' if title else ''}{said}; no kernel goes below {least * scale:,.3g} {unit}."
    )


def roofline_plot(points: Sequence[tuple[str, float]], intensity: float, roof: Roof, *, title: str = "") -> Plot:
    """Operations per second of each contestant at the case's `intensity`, operations for each byte, under the roof of a GPU.

    The roof: what a copy of the bytes allows, a slope, up to what products of matrices reach, a level (Williams et al. 2009, Roofline).
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = new_figure(6.0, 2.9, layout=ConstrainedLayoutEngine())
    axes = figure.subplots()
    ridge = roof.products / roof.copy
    low, high = min(intensity, ridge) / 16, max(intensity, ridge) * 4
    axes.plot(
        [low, ridge, high],
        [low * roof.copy / 1e12, roof.products / 1e12, roof.products / 1e12],
        color=LIGHT["warn"],
        linewidth=1.4,
    )
    middle = (low * ridge) ** 0.5
    axes.text(
        middle * 1.3, middle * roof.copy / 1e12, f"copy, {roof.copy / 1e9:,.0f} GB/s", fontsize=8, color=INK, va="top"
    )
    said = f"products, {roof.products / 1e12:,.0f} TFLOP/s"
    axes.text(high, roof.products / 1e12 * 1.12, said, fontsize=8, color=INK, ha="right")
    for (name, rate), (colour, mark) in zip(points, _MARKS, strict=False):
        axes.plot(
            [intensity],
            [rate / 1e12],
            mark,
            color=LIGHT[colour],
            markersize=6,
            label=f"{name}, {rate / 1e12:,.0f} TFLOP/s",
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_ylim(low * roof.copy / 1e12, roof.products / 1e12 * 2)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,g}")
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:,g}")
    axes.set_xlabel("operations for each byte that has to move", fontsize=9, color=INK)
    axes.set_ylabel("TFLOP/s", fontsize=9, color=INK)
    axes.tick_params(labelsize=8, colors=INK)
    axes.legend(fontsize=8, frameon=False, labelcolor=INK, loc="lower right")
    spines(axes, "left", "bottom")
    if title:
        figure.suptitle(title, fontsize=9.5, color=INK, weight="bold", x=0.01, ha="left")
    said = "; ".join(f"{name}: {rate / 1e12:,.0f} TFLOP/s" for name, rate in points)
    return Plot(
        inline_svg(figure),
        f"{title + '. ' if title else ''}Roofline of {roof.gpu}: {said}; the roof is at {roof.products / 1e12:,.0f}.",
    )


def levels_plot(
    levels: Mapping[str, Sequence[float]], names: Sequence[str], products: float, *, title: str = ""
) -> Plot:
    """Rates of several kernels, in TFLOP/s: for each a bar of every sort in `names`, with its share of the rate of `products`."""
    if not levels:
        raise ValueError("levels_plot needs at least one level")
    tall = 0.5 * len(levels) + 0.95
    figure = new_figure(6.4, tall)
    left = min(0.03 + 0.0125 * max(map(len, levels)), 0.5)
    axes = figure.add_axes((left, 0.4 / tall, 0.98 - left, 0.5 * len(levels) / tall))
    thick = 0.8 / len(names)
    for i, rates in enumerate(levels.values()):
        for j, (rate, (colour, _)) in enumerate(zip(rates, _MARKS, strict=False)):
            y = i + (j - (len(names) - 1) / 2) * thick
            axes.barh(y, rate, thick * 0.92, color=LIGHT[colour], label=names[j] if i == 0 else None)
            share = f"{rate:,.0f}, {100 * rate / products:.0f} %"
            axes.text(products * 1.03, y, share, va="center", fontsize=7.5, color=INK)
    axes.axvline(products, color=LIGHT["warn"], linewidth=1.3, linestyle="--")
    axes.set_yticks(range(len(levels)), list(levels), fontsize=8.5, color=INK)
    axes.set_ylim(len(levels) - 0.4, -0.5)
    axes.set_xlim(0, products * 1.25)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.legend(
        fontsize=8, frameon=False, labelcolor=INK, loc="upper center", bbox_to_anchor=(0.3, 0.0), ncols=len(names)
    )
    spines(axes, "left")
    if title:
        figure.text(0.01, 1 - 0.16 / tall, title, fontsize=9.5, color=INK, va="center", weight="bold")
    said = "; ".join(
        f"{level}: {', '.join(f'{rate:,.0f} {name}' for name, rate in zip(names, rates, strict=False))}"
        for level, rates in levels.items()
    )
    return Plot(
        inline_svg(figure), f"{title + '. ' if title else ''}TFLOP/s: {said}. Products of matrices: {products:,.0f}."
    )
