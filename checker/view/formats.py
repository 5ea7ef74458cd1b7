"""Numbers and bytes as people write them."""

from __future__ import annotations

import math
import re


def number(value: float, width: int = 6) -> str:
    """A number in at most `width` characters, if that can be done without distorting it."""
    if isinstance(value, bool):
        return "✓" if value else "·"
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value) and len(str(int(value))) <= width:
        return str(int(value))
    allowed = min(0.1, 10.0 ** (5 - width)) * abs(value)  # with more room, be more exact
    for digits in range(max(4, width - 2), 0, -1):
        text = f"{value:.{digits}f}"
        if len(text) <= width and abs(float(text) - value) <= allowed:
            return text
    if len(text := f"{value:.0f}") <= width and abs(value) >= 10:
        return text
    for digits in (2, 1):  # -0.3 rather than -3e-1, which is no more exact
        if len(text := f"{value:.{digits}f}") <= width and float(text) != 0:
            return text
    for digits in range(3, -1, -1):
        text = re.sub(r"e([+-])0*(\d)", lambda m: "e" + m[1].replace("+", "") + m[2], f"{value:.{digits}e}")
        if len(text) <= width:
            break
    fixed = f"{value:.2f}"  # -0.02 rather than -2e-2, which is as long
    return fixed if float(fixed) != 0 and len(fixed) <= len(text) else text


def size(amount: int) -> str:
    """Bytes: ``18,744 B``, ``256 kB``, ``1.5 GB``."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**5)):
        if amount >= scale:
            value = amount / (1000 if unit == "kB" else scale)
            return f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}"
    return f"{amount:,} B"
