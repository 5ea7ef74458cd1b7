"""What the attention puzzles are tried on: cases in which each two factors meet, long ones, and drawn ones.

A puzzle adds its own factors (heads, flags, lengths), and builds a `Case` from a row of them and two lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import torch

from checker.course.attention_inputs import counted
from checker.course.covering import Row, covering, smallest_first
from checker.course.families import in_name
from checker.course.softmax_rows import prime_below
from checker.puzzle import Case, Tolerance

CPU, GPU = frozenset({"cpu"}), frozenset({"gpu"})

TOLERANCE = {
    "float32": Tolerance(rtol=2**-11, c=2**13),
    "float16": Tolerance(rtol=2**-11, c=1.0),
    "bfloat16": Tolerance(rtol=2**-8, c=1.0),
}
"""Of outputs: one and a half steps of what the products' operands keep, 10 bits in TF32 and float16 and 7 in bfloat16.

Honest arithmetic loses less than half of it (docs/decisions.md); float32 operands that are rounded to bfloat16 lose more.
"""
STATISTICS = {
    "float32": Tolerance(rtol=2**-17, c=2**13),
    "float16": Tolerance(rtol=2**-17, c=1.0),
    "bfloat16": Tolerance(rtol=2**-17, c=1.0),
}
"""Of a maximum, a sum or a log-sum-exp, which are float32 whatever the inputs are. Only what scores lost as products may be lost."""

Build = Callable[[Row, int, int], Case]
"""A case from its factors, N_Q and N_KV."""
Allowed = Callable[[Row], bool]

OTHER_SCALE = 0.3
"""No 1 / sqrt(D)."""
TILES = ((16, 16), (64, 32), (32, 64))
"""BLOCK_M × BLOCK_N: as many queries as keys, more, fewer."""
DTYPES, WIDTHS = tuple(TOLERANCE), (16, 128, 64, 32)
SHAPES = {(dtype, d, TILES[(i + j) % 3]) for i, dtype in enumerate(DTYPES) for j, d in enumerate(WIDTHS)}
"""Each two of dtype, D and tile once. Cases of one shape are compiled once, and simulated together."""
TILES_OF_KEYS = {"score_pairs": 9, "score_pairs_in_sight": 7}
"""How many tiles a row needs to hold what its family is there for, if more than a few."""
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
"""`more` says of which there are more, `queries` and `keys` how full the last tile is. A scale of 0 is 1 / sqrt(D)."""


def covered(
    build: Build, factors: Mapping[str, Sequence[Any]] = FACTORS, allowed: Allowed = lambda row: True
) -> tuple[Case, ...]:
    """Small cases in which each two of these factors, which are `FACTORS` and the puzzle's own, meet in each of their values."""

    def possible(row: Row) -> bool:
        if not allowed(row) or (row["family"] in TILES_OF_KEYS and row["more"] != "keys"):
            return False
        if row["more"] == "neither" and row["queries"] != row["keys"]:
            return False
        return (row["dtype"], row["d"], row["tile"]) in SHAPES

    return smallest_first(build(row, *lengths(row)) for row in covering(factors, possible))


def lengths(row: Row) -> tuple[int, int]:
    """N_Q and N_KV."""
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
    """A length of so many tiles, the last one as full as the remainder says."""
    match remainder:
        case "none":
            return tiles * block
        case "one":
            return (tiles - 1) * block + 1
        case "all but one":
            return tiles * block - 1
        case _:
            return prime_below(tiles * block - 1)


def magnitude(case: Case, expected: torch.Tensor) -> torch.Tensor:
    """What a maximum, a sum or a log-sum-exp loses with the operands of the products is measured against: its own size, at least 1.

    Nothing where all scores are 0: however queries and keys are rounded, they stay so. Of scores near 0, their own size alone.
    """
    if case.family == "constant":
        return torch.zeros_like(expected)
    return expected.abs() if case.family == "creeping_scores" else expected.abs().clamp(1.0)


def said(n_q: int, n_kv: int, d: int, block: tuple[int, int], flags: Mapping[str, Any], **more: Any) -> str:
    """What sets a case apart, for its name."""
    family, layout = more.get("family", "normal"), more.get("layout", "contiguous")
    words = [
        f"{counted(n_q, 'query', 'queries')} × {counted(n_kv, 'key', 'keys')}",
        f"D = {d}",
        f"tiles {block[0]} × {block[1]}",
        more.get("dtype", "float32"),
        "causal" if flags.get("IS_CAUSAL") else "",
        ("", "ragged", "ragged in full tiles")[int(flags.get("RAGGED", 0))],
        f"scale {flags['SCALE']}" if flags.get("SCALE") else "",
        in_name(family),
        layout if layout != "contiguous" else "",
    ]
    return ", ".join(filter(None, words))


def built(row: Row) -> dict[str, Any]:
    """What a row of factors says of a case beside its sizes and tiles."""
    flags = {"SCALE": row["scale"]} if row["scale"] else {}
    return {"flags": flags, **{name: row[name] for name in ("dtype", "layout", "family", "seed") if name in row}}


def drawn(
    build: Build, factors: Mapping[str, Sequence[Any]] = FACTORS, allowed: Allowed = lambda row: True
) -> Callable[[Random], tuple[Case, ...]]:
    """Cases like those of `covered`, with sizes, tiles and scales as they fall; the last has more keys than all of those."""

    def cases(draw: Random) -> tuple[Case, ...]:
        found: list[Case] = []
        while len(found) < 6:
            row = {name: draw.choice(values) for name, values in factors.items()}
            if not allowed(row):
                continue
            row |= {"tile": (draw.choice((16, 32)), draw.choice((16, 32, 64))), "seed": draw.getrandbits(32)}
            row["scale"] = draw.choice((0.0, round(draw.uniform(0.05, 0.9), 3)))
            tiles = TILES_OF_KEYS.get(row["family"], 4)
            n_q, n_kv = draw.randint(1, 2 * row["tile"][0] + 9), draw.randint(1, tiles * row["tile"][1])
            if len(found) == 5:
                row |= {"tile": (64, 64), "d": draw.choice((16, 32))}
                n_q, n_kv = draw.randint(200, 250), draw.randint(2100, 2300)
            found.append(build(row, n_q, n_kv))
        return tuple(found)

    return cases
