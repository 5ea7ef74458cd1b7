"""A picture of a GPU's memories, with the size, bandwidth and latency of each, and marks for amounts of bytes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from checker.view.formats import size
from checker.view.plots import Plot
from checker.view.theme import svg_text, variable


@dataclass(frozen=True)
class Level:
    """A kind of memory: `count` units of `each` bytes, with a total `bandwidth` in bytes per second."""

    name: str
    where: str
    each: int
    count: int
    bandwidth: float
    cycles: int
    colour: str


SMS, CLOCK = 132, 1.98e9
H100: tuple[Level, ...] = (
    Level("registers", "in each SM", 256 * 1024, SMS, 0.0, 0, "dot"),
    Level("shared memory", "in each SM", 228 * 1024, SMS, SMS * 128 * CLOCK, 30, "atomic"),
    Level("L2 cache", "one for all", 50 * 2**20, 1, 4529 * 2**30, 219, "load"),
    Level("HBM", "beside the chip", 80 * 10**9, 1, 3.35e12, 834, "store"),
)
"""An H100 SXM. Sizes, 132 SMs and HBM's bandwidth: NVIDIA, H100 Tensor Core GPU Architecture, 2022. Shared memory answers 32 banks of
4 bytes per cycle and SM (NVIDIA, CUDA C++ Programming Guide), here at 1.98 GHz. L2's bandwidth and the latencies are
measurements of an H100 80GB HBM3 by MT4G (CAPS, TU München)."""
SOURCES = (
    "An H100 SXM. Sizes and HBM's bandwidth: NVIDIA's H100 whitepaper, 2022. Shared memory: 128 bytes per cycle in each of 132 SMs at 1.98 GHz. "
    "L2's bandwidth and the latencies: measured by MT4G (TU München) on an H100 80GB."
)
WIDE, LEFT, RIGHT, ROW = 640.0, 116.0, 394.0, 42.0
LEAST, MOST = 1e3, 1e11  # ends of the scale, in bytes


def memory_levels(marks: Sequence[tuple[str, int]] = (), caption: str = "") -> Plot:
    """The memories of an H100, nearest first, on a logarithmic scale of bytes, with marks by name and bytes.

    `caption` goes below the picture, above the sources.
    """
    top = 34.0 + 16 * len(marks)
    bottom = top + len(H100) * ROW
    heads = ((LEFT, "size (each line is ten times the last)"), (RIGHT + 12, "bandwidth"), (RIGHT + 100, "latency"))
    out = [svg_text(x, 14, head, "soft") for x, head in heads]
    out += [_line(_at(10.0**power), top - 6, bottom - 8, "faint") for power in range(3, 12)]
    out += [_level(level, top + i * ROW) for i, level in enumerate(H100)]
    out += [_line(_at(amount), 24 + 16 * i, bottom - 8, "warn", dash="4 3") for i, (_, amount) in enumerate(marks)]
    halo = Markup('<g paint-order="stroke" stroke="{}" stroke-width="5">{}</g>')  # a label may cross another's line
    for i, (name, amount) in enumerate(marks):
        x, end = _at(amount), "end" if _at(amount) > (LEFT + RIGHT) / 2 else "start"
        text = f"{name}: {size(amount)}"
        label = svg_text(x + (-5 if end == "end" else 5), 34 + 16 * i, text, "warn", end, bold=True)
        out.append(halo.format(variable("bg"), label))
    lines = [*([caption] if caption else []), *textwrap.wrap(SOURCES, 92)]
    for i, line in enumerate(lines):
        out.append(svg_text(0, bottom + 14 + 16 * i, line, "ink" if caption and i == 0 else "soft"))
    high = bottom + 16 * len(lines) + 6
    svg = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {:g} {:g}" width="100%" font-family="system-ui,sans-serif" font-size="12">{}</svg>'
    )
    return Plot(svg.format(WIDE, high, Markup("").join(out)), _alt(marks, caption))


def _level(level: Level, y: float) -> Markup:
    """A bar for one unit, in front of a bar for all of them together."""
    rect = Markup('<rect x="{:.1f}" y="{:g}" width="{:.1f}" height="22" rx="3" fill="{}" fill-opacity="{:g}"/>')
    colour, total = variable(level.colour), level.each * level.count
    bars = rect.format(LEFT, y, _at(total) - LEFT, colour, 0.28) + rect.format(
        LEFT, y, _at(level.each) - LEFT, colour, 1
    )
    held = f"{level.count} × {_size(level.each)}" if level.count > 1 else _size(level.each)
    full = level.count == 1 and _at(total) > RIGHT - 60
    amount = (
        svg_text(_at(total) - 6, y + 15, held, "bg", "end", bold=True)
        if full
        else svg_text(_at(total) + 6, y + 15, held, "ink")
    )
    names = svg_text(0, y + 9, level.name, "ink", bold=True) + svg_text(0, y + 24, level.where, "soft")
    speed = f"{level.bandwidth / 1e12:.3g} TB/s" if level.bandwidth else "no wait"
    latency = f"{level.cycles} cycles, {level.cycles / CLOCK * 1e9:.0f} ns" if level.cycles else "none"
    return (
        names
        + bars
        + amount
        + svg_text(RIGHT + 12, y + 15, speed, "ink")
        + svg_text(RIGHT + 100, y + 15, latency, "ink")
    )


def _size(amount: int) -> str:
    for unit, scale in (("GB", 10**9), ("MiB", 2**20), ("KiB", 2**10)):
        if amount >= scale:
            return f"{amount / scale:g} {unit}"
    return f"{amount} B"


def _at(amount: float) -> float:
    """The x coordinate of so many bytes."""
    share = math.log(max(min(amount, MOST), LEAST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + (RIGHT - LEFT) * share


def _line(x: float, top: float, bottom: float, colour: str, dash: str = "") -> Markup:
    dashed = Markup(' stroke-dasharray="{}"').format(dash) if dash else Markup("")
    return Markup('<path d="M{:.1f} {:g}V{:g}" stroke="{}" stroke-width="{}"{}/>').format(
        x, top, bottom, variable(colour), 1.6 if dash else 0.8, dashed
    )


def _alt(marks: Sequence[tuple[str, int]], caption: str) -> str:
    levels = "; ".join(
        f"{level.name}: {f'{level.count} times ' if level.count > 1 else ''}{_size(level.each)}"
        + (f", {level.bandwidth / 1e12:.3g} TB/s, {level.cycles} cycles away" if level.cycles else "")
        for level in H100
    )
    marked = "".join(f" {name}: {size(amount)}." for name, amount in marks)
    return f"The memories of an H100. {levels}.{marked}{' ' + caption if caption else ''}"
