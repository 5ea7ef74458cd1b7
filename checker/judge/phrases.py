"""Phrases about a kernel's elements, values and lines."""

from __future__ import annotations

import math
from collections.abc import Sequence

from checker.phrases import short
from checker.submission.kernel import KernelSource


def element(tensor: str, index: Sequence[int]) -> str:
    """``y[3, 17]``."""
    return f"{short(tensor)}[{', '.join(map(str, index))}]"


def number(value: float) -> str:
    """A value as a learner would print it: six figures are enough to see a difference."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:.6g}"


def at_line(source: KernelSource, line: int | None, before: str = ", at ") -> str:
    """``, at line 12``; empty without a line."""
    where = source.line_words(line)
    return f"{before}{where}" if where else ""


def stopped(source: KernelSource, line: int | None, message: str) -> str:
    """``line 12: A tile is too large.``, or the message alone."""
    where = source.line_words(line)
    return f"{where}: {message}" if where else message
