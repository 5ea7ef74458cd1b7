"""The pieces that sentences about a kernel are made of: elements, values, programs, counts, lists."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from checker.submission.kernel import KernelSource


def name_of(tensor: str) -> str:
    """``x`` for ``x_ptr``."""
    return tensor.removesuffix("_ptr")


def element(tensor: str, index: Sequence[int]) -> str:
    """``y[3, 17]``."""
    return f"{name_of(tensor)}[{', '.join(map(str, index))}]"


def number(value: float) -> str:
    """A value as a learner would print it: six figures are enough to see a difference."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:.6g}"


def program(ids: Sequence[int], grid: Sequence[int] | None = None) -> str:
    """``program 3`` on a one-dimensional grid, ``program (3, 0, 1)`` otherwise."""
    flat = not any(ids[1:]) if grid is None else all(size == 1 for size in grid[1:])
    return f"program {ids[0]}" if flat else f"program ({', '.join(map(str, ids))})"


def at_line(source: KernelSource, line: int | None, before: str = ", at ") -> str:
    """``, at line 12``; empty without a line."""
    where = source.line_words(line)
    return f"{before}{where}" if where else ""


def shape(sizes: Sequence[int]) -> str:
    """``4 × 12``; ``37 elements`` of a vector."""
    return " × ".join(map(str, sizes)) if len(sizes) != 1 else count(sizes[0], "element")


def stopped(source: KernelSource, line: int | None, message: str) -> str:
    """``line 12: A tile is too large.``, or the message alone."""
    where = source.line_words(line)
    return f"{where}: {message}" if where else message


def count(n: int, one: str, many: str | None = None) -> str:
    """``1 element``, ``2 elements``."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def join(parts: Iterable[str]) -> str:
    """``a, b and c``."""
    items = list(parts)
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1] if items else ""
