"""A case's layout, sizes and flags in words, for sentences about a kernel that fails there."""

from __future__ import annotations

from collections.abc import Mapping

from checker.puzzle import Case

LAYOUTS: dict[str, str] = {
    "padded": "rows that lie further apart in memory than they are long",
    "repeated": "inputs that repeat one row, with a stride of 0",
    "roomy": "gaps between the heads",
    "repeated token": "one query, key and value for all tokens, which repeat it with a stride of 0",
    "repeated head": "one head of queries, keys and values for all heads, which repeat it with a stride of 0",
    **dict.fromkeys(("transposed", "interleaved"), "heads that lie side by side in memory, row by row"),
    **dict.fromkeys(
        ("mixed 1", "mixed 2", "mixed 3", "mixed 4"),
        "some tensors contiguous and others in an order of their own, and some inputs with a stride of 0",
    ),
    **{
        f"repeated {part}": f"one of the {part} repeated, with a stride of 0"
        for part in ("heads", "queries", "keys", "values")
    },
    **dict.fromkeys(("strided", "apart"), "tensors that each lie in memory in an order of their own, with gaps"),
}
"""By layout, except the contiguous one."""

SIZES: dict[str, str] = {
    "N_Q": "queries",
    "N_KV": "keys",
    "H_Q": "query heads",
    "H_KV": "key heads",
    "WINDOW": "keys in a window",
    "SPLITS": "splits",
    "D": "features",
    "D_V": "features of a value",
}
"""What a size counts, for symbols that mean the same in every puzzle."""

FLAGS: dict[str, tuple[str, str]] = {
    "SCALE": ("with a scale that is not 1 / sqrt(D)", "with scale = 1 / sqrt(D)"),
    "PAST": ("after earlier tokens, whose state is given", "without earlier tokens"),
    "TINY_Q": ("with tiny queries and huge keys", "with queries and keys of one magnitude"),
    "TINY_K": ("with tiny keys and huge queries", "with queries and keys of one magnitude"),
    "POWER": ("with values near the ends of their type", "with ordinary values"),
    "SINKS": ("with sinks", "without sinks"),
    "SHARED": ("with pages that several texts share", "with pages of one text each"),
    "RAGGED": ("with texts shorter than N_KV", "with texts of N_KV keys"),
    "EMPTY": ("with texts that have no key yet", "with keys in every text"),
    "VIEW": ("with queries that are a view of a wider tensor", "with queries of their own"),
    "WIDE": ("with a block table that is part of a wider one", "with a block table of its own"),
    "LONG": ("with a block table of int64", "with a block table of int32"),
}
"""The words for a flag that is on and for the same flag off, where its name is not enough."""

TILES: dict[str, tuple[str, ...]] = {
    "BLOCK_M": ("M", "N_Q"),
    "BLOCK_N": ("N", "N_KV"),
    "BLOCK_S": ("SPLITS",),
    "BLOCK_V": ("D_V",),
    "BLOCK_SIZE": ("SIZE",),
    "CHUNK": ("N",),
}
"""The sizes that a tile cuts, by the name of the tile."""


def described(case: Case) -> str:
    """``M = 5, N = 37, BLOCK_N = 16, float16, ascending rows, with rows that lie …``: its name, with the checker's own words spelt out."""
    flags = {name: value for name, value in case.flags.items() if value}
    numbers = {**case.sizes, **case.meta, **{name: value for name, value in flags.items() if name not in FLAGS}}
    words = [name if value is True else f"{name} = {value}" for name, value in numbers.items()]
    words += [case.dtype, case.family.label, *(FLAGS[name][0] for name in flags if name in FLAGS)]
    if case.layout != "contiguous":
        words.append(f"with {LAYOUTS.get(case.layout, f'the {case.layout} layout')}")
    return ", ".join(filter(None, words))


def tile_of(size: str, meta: Mapping[str, int]) -> str | None:
    """The name of the tile in `meta` that cuts a size, or None."""
    return next((tile for tile, sizes in TILES.items() if size in sizes and tile in meta), None)
