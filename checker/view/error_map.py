"""A picture of where an output is wrong: the error over the output, with the tiles and the programs that wrote them."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np

from checker.judge.verdict import Mismatch
from checker.view.theme import short

INK = "#7d8590"  # readable on white and on dark grey: the picture's ground is transparent
FINE, UNWRITTEN, NOT_FINITE = (0.90, 0.92, 0.94), (0.62, 0.66, 0.70), (0.48, 0.22, 0.60)
LOW, HIGH = np.array([1.0, 0.86, 0.72]), np.array([0.72, 0.23, 0.0])
MAX_COLS, MAX_ROWS = 360, 120
LIMIT = 15_000


def error_map(mismatch: Mismatch) -> bytes:
    """PNG of |got - expected| over the tolerance, at most 15 kB, on a transparent ground.

    One pixel stands for the worst of the elements under it, so a single wrong element of a large output stays visible.
    """
    for dpi in (144, 110, 80):
        png = _draw(mismatch, dpi)
        if len(png) <= LIMIT:
            break
    return png


def _plane(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Rows and columns; leading dimensions are stacked above one another."""
    return np.asarray(array).reshape(-1, shape[-1]) if shape else np.asarray(array).reshape(1, 1)


def _pool(array: np.ndarray, rows: int, cols: int) -> np.ndarray:
    """The maximum over blocks of ``rows × cols``; the last block may be smaller."""
    high, wide = -(-array.shape[0] // rows) * rows, -(-array.shape[1] // cols) * cols
    padded = np.full((high, wide), array.min() if array.size else 0, dtype=array.dtype)
    padded[: array.shape[0], : array.shape[1]] = array
    return padded.reshape(high // rows, rows, wide // cols, cols).max(axis=(1, 3))


def paint(mismatch: Mismatch) -> tuple[np.ndarray, tuple[int, int], float]:
    """Colours ``[rows, cols, 3]``, how many elements a pixel stands for, and the largest finite error."""
    error = _plane(mismatch.error, mismatch.shape).astype(np.float64)
    unwritten = np.zeros(error.shape, dtype=bool)
    if mismatch.writers is not None:
        unwritten = _plane(mismatch.writers, mismatch.shape) < 0
    step = (-(-error.shape[0] // MAX_ROWS), -(-error.shape[1] // MAX_COLS))
    # how bad: 0 fine, 1 unwritten, 2 a wrong number, 3 not finite
    level = np.where(~np.isfinite(error), 3, np.where(error > 1, 2, 0))
    level = _pool(np.where(unwritten, 1, level), *step)
    worst = _pool(np.where(np.isfinite(error) & ~unwritten, error, 0.0), *step)
    top = max(float(worst.max()), 10.0)
    share = np.clip(np.log10(np.maximum(worst, 1.0)) / math.log10(top), 0, 1)[..., None]
    picture = np.broadcast_to(np.array(FINE), (*level.shape, 3)).copy()
    picture[level == 2] = (LOW + (HIGH - LOW) * share)[level == 2]
    picture[level == 1] = UNWRITTEN
    picture[level == 3] = NOT_FINITE
    return picture, step, top


def _draw(mismatch: Mismatch, dpi: int) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch, Rectangle
    from matplotlib.ticker import MaxNLocator

    picture, _, top = paint(mismatch)
    rows, cols = _plane(mismatch.error, mismatch.shape).shape
    high = min(max(4.3 * rows / cols, 0.32, 0.16 * min(rows, 12)), 2.2)
    tall = high + 0.76
    figure = Figure(figsize=(5.2, tall))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.09, 0.56 / tall, 0.78, high / tall))
    axes.imshow(picture, extent=(-0.5, cols - 0.5, rows - 0.5, -0.5), aspect="auto", interpolation="nearest")
    _tiles(axes, mismatch, rows, cols)
    at = (
        int(np.ravel_multi_index(mismatch.first[:-1], mismatch.shape[:-1])) if len(mismatch.shape) > 1 else 0,
        mismatch.first[-1] if mismatch.first else 0,
    )
    axes.add_patch(Rectangle((at[1] - 0.5, at[0] - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=1.6))
    axes.annotate("first", (at[1], at[0]), (0, 9), textcoords="offset points", ha="center", fontsize=7, color="black",
                  bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "black", "lw": 0.6})  # fmt: skip
    axes.set_xlabel(f"column of {short(mismatch.output)}", fontsize=8, color=INK, labelpad=2)
    if rows > 1:
        axes.set_ylabel("row", fontsize=8, color=INK)
    axes.tick_params(labelsize=7, colors=INK, length=2)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    if rows == 1:
        axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color(INK)
    handles = [Patch(fc=FINE, ec=INK, lw=0.5, label="right"), Patch(fc=tuple(LOW), ec=INK, lw=0.5, label="just wrong")]
    handles.append(
        Patch(
            fc=tuple(HIGH),
            ec=INK,
            lw=0.5,
            label=f"{top:,.0f} × the tolerance" if top < 1e6 else f"{top:.0e} × the tolerance",
        )
    )
    flat = mismatch.error
    if not np.isfinite(flat).all():
        handles.append(Patch(fc=NOT_FINITE, ec=INK, lw=0.5, label="NaN or inf"))
    if mismatch.writers is not None and (np.asarray(mismatch.writers) < 0).any():
        handles.append(Patch(fc=UNWRITTEN, ec=INK, lw=0.5, label="never stored"))
    figure.legend(handles=handles, loc="lower center", ncol=5, fontsize=7, frameon=False, labelcolor=INK, handlelength=1.1,
                  columnspacing=1.0, borderaxespad=0.1)  # fmt: skip
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=dpi, transparent=True)
    return _smaller(out.getvalue())


def _tiles(axes: Any, mismatch: Mismatch, rows: int, cols: int) -> None:
    """Lines between what different programs wrote, and their numbers where there is room."""
    if mismatch.writers is None:
        return
    who = _plane(mismatch.writers, mismatch.shape)
    down = np.flatnonzero((who[1:] != who[:-1]).any(axis=1)) if rows > 1 else np.array([], dtype=int)
    across = np.flatnonzero((who[:, 1:] != who[:, :-1]).any(axis=0)) if cols > 1 else np.array([], dtype=int)
    if len(down) <= 40:
        for r in down:
            axes.axhline(r + 0.5, color="#30363d", linewidth=0.7)
    if len(across) <= 60:
        for c in across:
            axes.axvline(c + 0.5, color="#30363d", linewidth=0.7)
    if (len(down) + 1) * (len(across) + 1) > 48 or len(down) > 11:
        return
    top, left = [0, *(int(d) + 1 for d in down)], [0, *(int(a) + 1 for a in across)]
    for r0, r1 in zip(top, [*top[1:], rows], strict=True):
        for c0, c1 in zip(left, [*left[1:], cols], strict=True):
            program = int(who[r0, c0])
            if program < 0:
                continue
            if len(left) == 1:  # whole rows: beside the picture, where nothing is hidden
                axes.text(cols - 0.5, (r0 + r1 - 1) / 2, f" program {program}", fontsize=6.5, color=INK, va="center")
            else:
                box = {"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none", "alpha": 0.8}
                axes.text(
                    (c0 + c1 - 1) / 2,
                    (r0 + r1 - 1) / 2,
                    str(program),
                    fontsize=6.5,
                    color="#30363d",
                    ha="center",
                    va="center",
                    bbox=box,
                )


def _smaller(png: bytes) -> bytes:
    """The same picture with a palette."""
    from PIL import Image

    image = Image.open(io.BytesIO(png)).quantize(64, method=Image.Quantize.FASTOCTREE)
    out = io.BytesIO()
    image.save(out, format="png", optimize=True)
    return out.getvalue()


def alt_text(mismatch: Mismatch) -> str:
    shape = " × ".join(map(str, mismatch.shape))
    return f"Map of the {shape} output {short(mismatch.output)}: {mismatch.wrong} of {mismatch.total} elements are wrong, from {mismatch.first} on."
