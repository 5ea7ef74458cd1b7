"""Small figures for notebooks: a picture with its words for those who cannot see it, and the bytes of each rung."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from checker.view.figures import INK, svg
from checker.view.theme import LIGHT, escape, size, style

# a ground of its own: a page may be light where the reader's system is dark
_FRAME = "box-sizing:border-box;max-width:640px;padding:6px 8px;border-radius:8px;background:var(--bg)"


@dataclass(frozen=True, repr=False)
class Svg:
    """An inline SVG that a notebook shows as its rich output."""

    svg: str
    alt: str

    def __repr__(self) -> str:
        return f"<plot: {self.alt.partition('. ')[0][:200]}>"

    def _repr_html_(self) -> str:
        described = f'role="img" aria-label="{escape(self.alt)}"'
        return f'<div class="tbt-plot" {described} style="{_FRAME}">{style("tbt-plot")}{self.svg}</div>'


def traffic_plot(rungs: Mapping[str, tuple[int, int]] | Sequence[tuple[str, int, int]], *, title: str = "") -> Svg:
    """Predicted against counted bytes, one pair of bars per rung: ``{"online_softmax": (predicted, counted)}``."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    rows = [(n, *pair) for n, pair in rungs.items()] if isinstance(rungs, Mapping) else list(rungs)
    if not rows:
        raise ValueError("traffic_plot needs at least one rung: a name, the bytes predicted and the bytes counted")
    tall = 0.62 * len(rows) + 0.53
    figure = Figure(figsize=(6.0, tall))
    FigureCanvasSVG(figure)
    longest = max(len(name) for name, _, _ in rows)
    left = min(0.07 + 0.0135 * longest, 0.4)
    axes = figure.add_axes((left, 0.1 / tall, 0.97 - left, 0.62 * len(rows) / tall))
    widest = max(max(p, c) for _, p, c in rows) or 1
    least = min(min(p, c) for _, p, c in rows)
    say = size if least >= 10**5 or widest >= 10**7 else _in_bytes  # one unit for all bars, so that they compare
    for i, (_, predicted, counted) in enumerate(rows):
        axes.barh(i - 0.19, predicted, 0.34, facecolor="none", edgecolor=LIGHT["load"], linewidth=1.4, hatch="////")
        axes.barh(i + 0.19, counted, 0.34, color=LIGHT["store"])
        axes.text(
            predicted + 0.01 * widest, i - 0.19, f"{say(predicted)} predicted", va="center", fontsize=8, color=INK
        )
        said = "as predicted" if counted == predicted else f"{counted / predicted:.2f} × predicted" if predicted else ""
        axes.text(
            counted + 0.01 * widest,
            i + 0.19,
            f"{say(counted)} counted, {said}".rstrip(", "),
            va="center",
            fontsize=8,
            color=INK,
        )
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows], fontsize=9, color=INK)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, widest * 1.8)
    axes.set_xticks([])
    axes.tick_params(length=0)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["left"].set_color(INK)
    if title:
        figure.text(0.01, 1 - 0.16 / tall, title, fontsize=9.5, color=INK, va="center", weight="bold")
    alt = "; ".join(f"{name}: {say(p)} predicted, {say(c)} counted" for name, p, c in rows)
    return Svg(svg(figure), f"{title + '. ' if title else ''}{alt}.")


def _in_bytes(amount: int) -> str:
    return f"{amount:,} B"
