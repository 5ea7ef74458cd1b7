"""Words of the findings: tensors, indices and programs as a learner knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from checker.simulator.region import Region

NAN_WAYS = {
    "-": " (inf - inf, or -inf - -inf, has no value)",
    "+": " (inf + -inf has no value)",
    "*": " (0 * inf has no value)",
    "/": " (0 / 0 and inf / inf have no value)",
    "tl.sum": " (inf and -inf in one sum have no value)",
    "tl.dot": " (0 * inf, or inf and -inf in one sum, have no value)",
    "tl.log": " (the logarithm of a negative number has no value)",
    "tl.log2": " (the logarithm of a negative number has no value)",
    "tl.sqrt": " (the root of a negative number has no value)",
    "tl.rsqrt": " (the root of a negative number has no value)",
}
"""How each operation can make a NaN out of numbers."""


def plain(tensor: str) -> str:
    """``x`` for ``x_ptr``: the parameter is a pointer, what a message speaks of is the tensor behind it."""
    return tensor.removesuffix("_ptr")


def said(region: Region) -> str:
    return plain(region.name)


def lanes(count: int) -> str:
    return "lane" if count == 1 else "lanes"


def index(index: tuple[int, ...]) -> str:
    return "[" + ", ".join(str(i) for i in index) + "]"


def program(program: tuple[int, int, int], grid: tuple[int, int, int]) -> str:
    """As many numbers as the grid has dimensions."""
    used = max((i + 1 for i in range(3) if grid[i] > 1), default=1)
    return str(program[0]) if used == 1 else "(" + ", ".join(str(p) for p in program[:used]) + ")"


def unlinear(number: int, grid: tuple[int, int, int]) -> tuple[int, int, int]:
    rest, x = divmod(number, grid[0])
    z, y = divmod(rest, grid[1])
    return x, y, z


def where_outside(region: Region, place: int) -> str:
    if place < 0:
        return "before its first element"
    if place < region.span:
        return "in the gap between its rows"
    if region.offset + place < region.storage_elements:
        return "in memory that belongs to something else"
    return "past its last element"
