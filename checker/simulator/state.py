"""What a kernel's variables hold at an event, short enough to be shown."""

from __future__ import annotations

from types import FrameType
from typing import Any

import numpy as np

from checker.simulator import numerics, seam

MAX_STATE = 1024
"""Tiles of more numbers than this are summarised in an event's state."""


def rounded(value: float) -> float:
    """To four significant digits: enough to read, and short in a film."""
    number = float(value)
    return float(f"{number:.4g}") if np.isfinite(number) else number


def _nested(data: np.ndarray) -> Any:
    if data.dtype.kind in "biu":
        return data.tolist()
    return _rounded(data.astype(np.float64)).tolist()


def _rounded(data: np.ndarray) -> np.ndarray:
    """`rounded`, for a whole tile. A whole number times or over a power of ten (up to
    10²²) is the double nearest to its decimal digits."""
    with np.errstate(all="ignore"):
        digits = 3 - np.floor(np.log10(np.abs(data)))
        shift = np.power(10.0, np.abs(digits))
        short = np.where(digits >= 0, np.round(data * shift) / shift, np.round(data / shift) * shift)
        plain = np.isfinite(short) & (np.abs(digits) <= 22)
    for i in np.flatnonzero(np.isfinite(data) & ~plain):
        short.flat[i] = rounded(data.flat[i])
    return np.where(np.isfinite(data), short, data)


def _summary(data: np.ndarray) -> dict[str, Any]:
    numbers = data.astype(np.float64)
    known = numbers[~np.isnan(numbers)]
    low, high = (rounded(known.min()), rounded(known.max())) if known.size else (float("nan"), float("nan"))
    return {"shape": list(data.shape), "min": low, "max": high}


def state(frame: FrameType | None, given: dict[str, Any]) -> dict[str, Any]:
    """Local numbers and tiles of the kernel: not its arguments, not pointers. Tiles above MAX_STATE numbers are summarised."""
    out: dict[str, Any] = {}
    if frame is None:
        return out
    for name, value in frame.f_locals.items():
        if name.startswith("__") or (name in given and given[name] is value):
            continue
        if isinstance(value, (bool, int)):
            out[name] = value
        elif isinstance(value, float):
            out[name] = rounded(value)
        elif seam.is_tensor(value):
            handle = seam.handle_of(value)
            if handle.pointer is not None or handle.type.is_ptr():
                continue
            data = np.asarray(handle.data)
            if not numerics.is_float(data.dtype) and data.dtype.kind not in "biu":
                continue
            out[name] = _nested(data) if data.size <= MAX_STATE else _summary(data)
    return out
