"""Cases, tolerances and error scales of the attention puzzles.

Cases come from a covering array (`covered`) or are drawn at random (`drawn`). A puzzle adds factors of its own, such as heads and
flags, and builds a `Case` from a row of factors and two lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import torch

from checker.authoring.covering import Row, covering
from checker.authoring.space import length, smallest_first
from checker.course.tensors import row_magnitude
from checker.puzzle import Case, Tolerance

TOLERANCE = {
    "float32": Tolerance(rtol=2**-11, c=2**13),
    "float16": Tolerance(rtol=2**-11, c=1.0),
    "bfloat16": Tolerance(rtol=2**-8, c=1.0),
}
"""For outputs: 1.5 steps of the mantissa that the products' operands keep, 10 bits in TF32 and float16, 7 in bfloat16.

Correct arithmetic loses less than half of this (docs/decisions.md). float32 operands rounded to bfloat16 lose more.
"""
STATISTICS = {
    "float32": Tolerance(rtol=2**-17, c=2**13),
    "float16": Tolerance(rtol=2**-17, c=1.0),
    "bfloat16": Tolerance(rtol=2**-17, c=1.0),
}
"""For a maximum, a sum or a log-sum-exp, which are always float32. They may lose only what the scores lose as products."""

Build = Callable[[Row, int, int], Case]
"""A case from a row of factors, N_Q and N_KV."""
Allowed = Callable[[Row], bool]
Lengths = Callable[[Random, Row], tuple[int, int]]

OTHER_SCALE = 0.3
"""A scale that is not 1 / sqrt(D) for any D."""
SCALED = {"SCALE": OTHER_SCALE}
TILES = ((16, 16), (64, 32), (32, 64))
"""(BLOCK_M, BLOCK_N) with equal sides, with more queries, and with more keys."""
DTYPES, WIDTHS = tuple(TOLERANCE), (16, 128, 64, 32)
SHAPES = {(dtype, d, TILES[(i + j) % 3]) for i, dtype in enumerate(DTYPES) for j, d in enumerate(WIDTHS)}
"""Every pair of dtype, D and tile once. Cases of one shape are compiled once and simulated together."""
TILES_OF_KEYS = {"score_pairs": 9, "score_pairs_in_sight": 7}
"""How many tiles of keys a family needs to show what it is for, if more than three."""
FACTORS: dict[str, Sequence[Any]] = {
    "family": ("score_pairs_in_sight", "score_pairs", "large", "normal"),
    "more": ("keys", "queries", "neither"),
    "queries": ("prime", "none", "one", "all but one"),
    "keys": ("prime", "none", "one", "all but one"),
    "dtype": DTYPES,
    "layout": ("padded", "contiguous"),
    "tile": TILES,
    "d": WIDTHS,
    "scale": (OTHER_SCALE, 0.0),
}
"""`more`: whether there are more keys or more queries. `queries`, `keys`: how full the last tile is. A scale of 0 means 1 / sqrt(D)."""


def covered(
    build: Build, factors: Mapping[str, Sequence[Any]] = FACTORS, allowed: Allowed = lambda row: True
) -> tuple[Case, ...]:
    """Small cases that cover all values of `factors` in pairs: `FACTORS` and the puzzle's own."""

    def possible(row: Row) -> bool:
        if not allowed(row) or (row["family"] in TILES_OF_KEYS and row["more"] != "keys"):
            return False
        if row["more"] == "neither" and row["queries"] != row["keys"]:
            return False
        return (row["dtype"], row["d"], row["tile"]) in SHAPES

    return smallest_first(build(row, *lengths(row)) for row in covering(factors, possible))


def lengths(row: Row) -> tuple[int, int]:
    """N_Q and N_KV of a row of factors."""
    block_m, block_n = row["tile"]
    if row["more"] == "neither":
        n = _length(2, max(block_m, block_n), row["keys"])
        return n, n
    if row["more"] == "queries":
        keys = _length(2, block_n, row["keys"])
        return _length(-(-keys // block_m) + 1, block_m, row["queries"]), keys
    tiles = max(TILES_OF_KEYS.get(row["family"], 3), 2 * block_m // block_n + 1)
    return _length(2, block_m, row["queries"]), _length(tiles, block_n, row["keys"])


def _length(tiles: int, block: int, remainder: str) -> int:
    return length(tiles * block, block, remainder, off_edges=False)


def scale_of_outputs(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """What an error is measured against: the largest element of a row of O.

    Twice that where scores are near -150 or +120 and queries have 16 bits: a kernel may scale them and round them again.
    """
    rounded = case.family.name in ("negative", "positive") and case.dtype != "float32"
    return row_magnitude(case, output, expected) * (2 if rounded else 1)


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """What an error is measured against: for O see `scale_of_outputs`; for a maximum, sum or log-sum-exp its own size, at least 1.

    The at least 1 allows for rounded operands of the scores, and half as much again for queries that are scaled and rounded to 16 bits
    once more. Neither applies to the scores near 0 of "creeping_scores". In "constant" all scores are exactly 0, however queries and
    keys are rounded: there the statistics may be off by a few last bits of 1, as an approximated exponential of 0 may be.
    """
    if output == "o_ptr":
        return scale_of_outputs(case, output, expected)
    if case.family.name == "constant":
        return torch.full_like(expected, 2.0**-11)
    if case.family.name == "creeping_scores":
        return expected.abs()
    return expected.abs().clamp(1.0) * (1.0 if case.dtype == "float32" else 1.5)


def values_of(row: Row) -> dict[str, Any]:
    """The fields of a case, apart from sizes and tiles, that a row of factors gives."""
    flags = {"SCALE": row["scale"]} if row["scale"] else {}
    return {"flags": flags, **{name: row[name] for name in ("dtype", "layout", "family", "seed") if name in row}}


def _few_tiles(draw: Random, row: Row) -> tuple[int, int]:
    tiles = TILES_OF_KEYS.get(row["family"], 4)
    return draw.randint(1, 2 * row["tile"][0] + 9), draw.randint(1, tiles * row["tile"][1])


def _many_tiles(draw: Random, row: Row) -> tuple[int, int]:
    row |= {"tile": (64, 64), "d": draw.choice((16, 32))}
    return draw.randint(200, 250), draw.randint(2100, 2300)


def _many_keys(draw: Random, row: Row) -> tuple[int, int]:
    row |= {"tile": (16, 128), "d": 16, "dtype": "float32"}
    if "heads" in row:
        row |= {"batches": 1, "heads": (1, 1)} if "batches" in row else {"heads": 1}
    return draw.randint(1, 16), draw.randint(40_004, 44_000)


def drawn(
    build: Build,
    factors: Mapping[str, Sequence[Any]] = FACTORS,
    allowed: Allowed = lambda row: True,
    lengths: Lengths = _few_tiles,
    large: Lengths = _many_tiles,
    longest: Lengths = _many_keys,
) -> Callable[[Random], tuple[Case, ...]]:
    """Seven cases like those of `covered` with random sizes, tiles and scales. The last one is longer than any known case.

    `lengths` draws N_Q and N_KV, `large` those of the sixth case, which has many tiles of both, `longest` those of the last; each may
    change the row of factors.
    """

    def cases(draw: Random) -> tuple[Case, ...]:
        found: list[Case] = []
        while len(found) < 7:
            row = {name: draw.choice(values) for name, values in factors.items()}
            if not allowed(row):
                continue
            row |= {"tile": (draw.choice((16, 32)), draw.choice((16, 32, 64))), "seed": draw.getrandbits(32)}
            row["scale"] = draw.choice((0.0, round(draw.uniform(0.05, 0.9), 3)))
            n_q, n_kv = {5: large, 6: longest}.get(len(found), lengths)(draw, row)
            found.append(build(row, n_q, n_kv))
        return tuple(found)

    return cases
