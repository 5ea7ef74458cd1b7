"""The factors of a case in words: what its layout and its sizes are, as part of a sentence about a kernel that fails there."""

from __future__ import annotations

from collections.abc import Mapping

LAYOUTS: dict[str, str] = {
    "padded": "rows that lie further apart in memory than they are long",
    "transposed": "heads that lie side by side in memory, row by row",
    "strided": "tensors that each lie in memory in an order of their own, with gaps",
}
"""By layout; the contiguous one needs no words."""

SIZES: dict[str, str] = {
    "N_Q": "queries",
    "N_KV": "keys",
    "H_Q": "query heads",
    "H_KV": "key heads",
    "D_V": "features of a value",
}
"""What is counted, for symbols that mean the same in every puzzle."""

FLAGS: dict[str, tuple[str, str]] = {
    "SCALE": ("with a scale that is not 1 / sqrt(D)", "with scale = 1 / sqrt(D)"),
    "PAST": ("after earlier tokens, whose state is given", "without earlier tokens"),
    "RAGGED": ("with keys padded to a length for each batch", "with all keys of every batch"),
}
"""A flag that is on and the same flag off, where the name says too little."""

TILES: dict[str, tuple[str, ...]] = {
    "BLOCK_M": ("M", "N_Q"),
    "BLOCK_N": ("N", "N_KV"),
    "BLOCK_S": ("SPLITS",),
    "BLOCK_V": ("D_V",),
    "BLOCK_SIZE": ("SIZE",),
    "CHUNK": ("N",),
}
"""Which sizes are cut into tiles of which length, for symbols that mean the same in every puzzle."""


def tile_of(size: str, meta: Mapping[str, int]) -> str | None:
    """The name in `meta` of the tile that cuts a size; None where it is not cut."""
    return next((tile for tile, sizes in TILES.items() if size in sizes and tile in meta), None)
