"""The small phrases that every message about a kernel uses: amounts, lists, tensors, shapes, programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def count(amount: int, noun: str, plural: str = "") -> str:
    """``1 lane``, ``1,024 lanes``."""
    return f"{amount:,} {noun if amount == 1 else plural or noun + 's'}"


def join(parts: Iterable[str]) -> str:
    """``a, b and c``."""
    items = list(parts)
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1] if items else ""


def short(tensor: str) -> str:
    """``x`` for the parameter ``x_ptr``."""
    return tensor.removesuffix("_ptr")


def shape(sizes: Sequence[int]) -> str:
    """``4 × 12``; ``37 elements`` for a vector."""
    return " × ".join(map(str, sizes)) if len(sizes) != 1 else count(sizes[0], "element")


def program_number(ids: Sequence[int], grid: Sequence[int] | None = None) -> str:
    """``3`` on a one-dimensional grid, ``(3, 0)`` on a two-dimensional one. Without a grid, trailing zeros are left out."""
    rank = max((i + 1 for i, size in enumerate(grid or [n + 1 for n in ids]) if size > 1), default=1)
    return str(ids[0]) if rank == 1 else f"({', '.join(map(str, ids[:rank]))})"


def program(ids: Sequence[int], grid: Sequence[int] | None = None) -> str:
    """``program 3``, ``program (3, 0)``."""
    return f"program {program_number(ids, grid)}"
