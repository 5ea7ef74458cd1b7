"""How tiles lie in shared memory, in words."""

from __future__ import annotations

import math

from checker.compiler import SharedTile
from checker.judge.phrases import join
from checker.verbs.xray_facts import UNKNOWN, Results

_BANKS, _BANK = 32, 4  # shared memory answers 32 banks of 4 bytes at a time


def swizzle(tile: SharedTile) -> str:
    """The layout in two words."""
    width = swizzle_bytes(tile)
    return UNKNOWN if width is None else f"{width}-byte swizzle" if width else "no swizzle"


def swizzle_bytes(tile: SharedTile) -> int | None:
    """Over how many bytes pieces of neighbouring rows change places: 0 for none, None where the layout is not known."""
    if tile.kind == "nvmma_shared":
        return tile.swizzle_bytes
    if tile.kind != "swizzled_shared":
        return None
    return tile.vec * tile.max_phase * tile.bits // 8 if tile.max_phase > 1 else 0


def layouts(results: Results) -> list[str]:
    """How the tiles lie in shared memory: one sentence for each layout, with the GPUs and the tiles that have it."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for name, result in results.items():
        for tile in result.tiles or ():
            gpus, shapes = found.setdefault(layout(tile), ({}, {}))
            gpus[name] = None
            shapes[_shape(tile)] = None
    return [f"{join(gpus)}, tiles of {join(shapes)}: {words}" for words, (gpus, shapes) in found.items()]


def _shape(tile: SharedTile) -> str:
    stages = f" ({tile.stages} of it, for the stages of the loop)" if tile.stages > 1 else ""
    return f"{'×'.join(map(str, tile.shape))}{stages}"


def layout(tile: SharedTile) -> str:
    """A layout in a sentence, with Triton's numbers."""
    row = tile.inner * tile.bits // 8
    width = swizzle_bytes(tile)
    if width is None:
        return f"a layout that there are no words for here ({tile.kind or UNKNOWN})."
    if width == 0:
        if not row:
            return "no swizzle; the rows lie one after another."
        banks = _BANKS * _BANK // math.gcd(row, _BANKS * _BANK)
        fall = f"what stands below one another falls on {min(banks, _BANKS)} of the {_BANKS} banks"
        return f"no swizzle; rows of {row} bytes lie one after another, so {fall}."
    if tile.kind == "nvmma_shared":
        return (
            f"the {width}-byte swizzle of the tensor cores; within {width} bytes the 16-byte pieces change places from row to row, and "
            "after 8 rows it starts anew."
        )
    piece = tile.vec * tile.bits // 8
    turn = "from row to row" if tile.per_phase == 1 else f"every {tile.per_phase} rows"
    return (
        f"{width}-byte swizzle; pieces of {tile.vec} elements ({piece} bytes) change places {turn}, and after "
        f"{tile.max_phase * tile.per_phase} rows it starts anew (vec {tile.vec}, perPhase {tile.per_phase}, maxPhase {tile.max_phase})."
    )
