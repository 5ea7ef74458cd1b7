"""A map of an output's errors, with the tiles and the programs that stored them."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from markupsafe import Markup

from checker.judge.verdict import Mismatch
from checker.phrases import shape, short
from checker.view.plots import INK, inline_svg, new_figure

FINE, UNWRITTEN, NOT_FINITE = (0.90, 0.92, 0.94), (0.62, 0.66, 0.70), (0.48, 0.22, 0.60)
LOW, HIGH = np.array([1.0, 0.86, 0.72]), np.array([0.72, 0.23, 0.0])
MAX_COLS, MAX_ROWS = 260, 120
SHADES = 16  # between just wrong and worst; more would make the file larger
ON_PICTURE, LABEL = "#30363d", "#fefefe"  # the picture and its labels have a light background in both themes
_WIDE, _LEFT, _SHARE = 5.2, 0.09, 0.78  # width in inches; left edge and width of the picture as parts of it


def _plane(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The array as rows and columns, with leading dimensions stacked."""
    return np.asarray(array).reshape(-1, shape[-1]) if shape else np.asarray(array).reshape(1, 1)


def _pool(array: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """The maximum over blocks of ``rows × cols``; the last block may be smaller."""
    high, wide = -(-array.shape[0] // rows) * rows, -(-array.shape[1] // cols) * cols
    padded = np.full((high, wide), array.min() if array.size else 0, dtype=array.dtype)
    padded[: array.shape[0], : array.shape[1]] = array
    return padded.reshape(high // rows, rows, wide // cols, cols).max(axis=(1, 3))


def paint(mismatch: Mismatch) -> tuple[np.ndarray, tuple[int, int], float]:
    """Colours ``[rows, cols, 3]``, the elements per pixel in both directions, and the largest finite error."""
    error = _plane(mismatch.error, mismatch.shape).astype(np.float64)
    unwritten = np.zeros(error.shape, dtype=bool)
    if mismatch.writers is not None:
        unwritten = _plane(mismatch.writers, mismatch.shape) < 0
    step = (-(-error.shape[0] // MAX_ROWS), -(-error.shape[1] // MAX_COLS))
    # 0 right, 1 never stored, 2 wrong, 3 not finite
    level = np.where(~np.isfinite(error), 3, np.where(error > 1, 2, 0))
    level = _pool(np.where(unwritten, 1, level), *step)
    worst = _pool(np.where(np.isfinite(error) & ~unwritten, error, 0.0), *step)
    top = max(float(worst.max()), 10.0)
    share = np.clip(np.log10(np.maximum(worst, 1.0)) / math.log10(top), 0, 1)[..., None]
    share = np.round(share * (SHADES - 1)) / (SHADES - 1)
    picture = np.broadcast_to(np.array(FINE), (*level.shape, 3)).copy()
    picture[level == 2] = (LOW + (HIGH - LOW) * share)[level == 2]
    picture[level == 1] = UNWRITTEN
    picture[level == 3] = NOT_FINITE
    return picture, step, top


def error_map(mismatch: Mismatch) -> Markup:
    """Inline SVG of |got - expected| relative to the tolerance, with text in the colours of the page.

    A pixel shows the worst of its elements, so that a single wrong element stays visible in a large output.
    """
    from matplotlib.patches import Patch, Rectangle
    from matplotlib.ticker import MaxNLocator

    picture, step, top = paint(mismatch)
    rows, cols = _plane(mismatch.error, mismatch.shape).shape
    high = min(max(4.3 * rows / cols, 0.32, 0.16 * min(rows, 12)), 2.2)
    tall = high + 0.76
    figure = new_figure(_WIDE, tall)
    axes = figure.add_axes((_LEFT, 0.56 / tall, _SHARE, high / tall))
    extent = (-0.5, picture.shape[1] * step[1] - 0.5, picture.shape[0] * step[0] - 0.5, -0.5)
    axes.imshow(picture, interpolation="none", aspect="auto", extent=extent)
    axes.set(xlim=(-0.5, cols - 0.5), ylim=(rows - 0.5, -0.5))
    if mismatch.writers is not None:
        _programs(axes, mismatch)
    row, col = divmod(int(np.ravel_multi_index(mismatch.first, mismatch.shape)) if mismatch.shape else 0, cols)
    axes.add_patch(Rectangle((col - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=1.6))
    # at the edge, keep the word on the picture and off the numbers beside it
    side = "left" if col < cols / 20 else "right" if col > cols * 0.95 else "center"
    box = {"boxstyle": "round,pad=0.15", "fc": LABEL, "ec": "black", "lw": 0.6}
    axes.annotate("first", (col, row), (0, 9), textcoords="offset points", ha=side, fontsize=7, color="black", bbox=box)
    down, across = (
        ("row", "column", *mismatch.axes)[-2:] if len(mismatch.shape) == 2 else ("row", ("column", *mismatch.axes)[-1])
    )
    label = f"column of {short(mismatch.output)}" + (f": {across}" if across != "column" else "")
    axes.set_xlabel(label, fontsize=8, color=INK, labelpad=2)
    if rows > 1:
        axes.set_ylabel(down, fontsize=8, color=INK)
    axes.tick_params(labelsize=7, colors=INK, length=2)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    if rows == 1:
        axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color(INK)
    worst = f"{top:,.0f} × the tolerance" if top < 1e6 else f"{top:.0e} × the tolerance"
    colours = [(FINE, "right"), (tuple(LOW), "just wrong"), (tuple(HIGH), worst)]
    if not np.isfinite(mismatch.error).all():
        colours.append((NOT_FINITE, "NaN or inf"))
    if mismatch.writers is not None and (np.asarray(mismatch.writers) < 0).any():
        colours.append((UNWRITTEN, "never stored"))
    handles = [Patch(fc=colour, ec=INK, lw=0.5, label=label) for colour, label in colours]
    figure.legend(
        handles=handles,
        loc="lower center",
        ncol=5,
        fontsize=7,
        frameon=False,
        labelcolor=INK,
        handlelength=1.1,
        columnspacing=1.0,
        borderaxespad=0.1,
    )
    return inline_svg(figure)


def _edges(writers: np.ndarray) -> tuple[list[int], list[int]]:
    """The rows and columns, other than the first, at which another program's elements begin."""
    down = np.flatnonzero((writers[1:] != writers[:-1]).any(axis=1)) + 1
    return down.tolist(), (np.flatnonzero((writers[:, 1:] != writers[:, :-1]).any(axis=0)) + 1).tolist()


def numbered(mismatch: Mismatch) -> bool:
    """Whether the picture has room for program numbers."""
    if mismatch.writers is None:
        return False
    down, across = _edges(_plane(mismatch.writers, mismatch.shape))
    return (len(down) + 1) * (len(across) + 1) <= 48 and len(down) <= 11


def _programs(axes: Any, mismatch: Mismatch) -> None:
    """Lines between the tiles of different programs, and the programs' numbers if there is room."""
    writers = _plane(np.asarray(mismatch.writers), mismatch.shape)
    rows, cols = writers.shape
    down, across = _edges(writers)
    for row in down if len(down) <= 40 else ():
        axes.axhline(row - 0.5, color=ON_PICTURE, linewidth=0.7)
    for col in across if len(across) <= 60 else ():
        axes.axvline(col - 0.5, color=ON_PICTURE, linewidth=0.7)
    if not numbered(mismatch):
        return
    box = {"boxstyle": "round,pad=0.12", "fc": LABEL, "ec": "none", "alpha": 0.8}
    for r0, r1 in pairwise([0, *down, rows]):
        for c0, c1 in pairwise([0, *across, cols]):
            program, y = int(writers[r0, c0]), (r0 + r1 - 1) / 2
            if program < 0:
                continue
            if not across:  # programs stored whole rows, so their numbers fit beside the picture
                axes.text(cols - 0.5, y, f" program {program}", fontsize=6.5, color=INK, va="center")
            else:
                style: Any = {"fontsize": 6.5, "color": ON_PICTURE, "ha": "center", "va": "center", "bbox": box}
                axes.text((c0 + c1 - 1) / 2, y, str(program), **style)


def alt_text(mismatch: Mismatch) -> str:
    return f"Map of the output {short(mismatch.output)} ({shape(mismatch.shape)}): {mismatch.wrong} of {mismatch.total} elements are wrong, starting at {mismatch.first}."
