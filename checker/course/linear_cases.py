"""Small cases of linear attention in which the values of each two factors meet, and cases of the same construction with sizes as they fall."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from checker.course.covering import Row, covering
from checker.course.linear_causal import chunked_case
from checker.course.softmax_rows import prime_below
from checker.puzzle import Case

FAMILIES = ("contributions", "growing", "signs", "hot", "cold")
"""The families that are covered with all else."""
CHUNKS = {"contributions": 6}
"""How many chunks a text needs to hold what its family is there for; three where none is said."""
REMAINDERS = ("one", "none", "all but one", "prime", "short", "alone")
VALUES = ("one more", "all", "full", "all but one", "one")
WIDTHS = (16, 32, 64, 128)
HEADS = ((1, 2), (1, 1), (1, 5), (2, 2))
LAYOUTS = ("padded", "transposed", "contiguous")
DTYPES = ("float32", "float16", "bfloat16")
MOST_TURNS = 24
"""Turns of a loop in all programs together: what a case costs."""


@functools.cache
def length(family: str, tile: int, remainder: str) -> int:
    """How many tokens fill tiles as the remainder says; "short" is less than one tile, "alone" a single token."""
    full = tile * CHUNKS.get(family, 3)
    lengths = {
        "none": full,
        "one": full - tile + 1,
        "all but one": full - 1,
        "prime": prime_below(full - 1),
        "short": tile // 2 + 1,
        "alone": 1,
    }
    return lengths[remainder]


def columns(values: str, block: int) -> int:
    """D_V beside the slice that one program owns: as many, three slices, one column more than four slices, one less than a slice, one."""
    return {"all": block, "full": 3 * block, "one more": 4 * block + 1, "all but one": block - 1, "one": 1}[values]


def sensible(row: Row) -> bool:
    """A covered case that holds what its family is there for, and is cheap."""
    family = row["family"]
    if family == "contributions" and row["remainder"] in ("short", "alone"):
        return False
    return not (family == "cold" and row["dtype"] == "float16")  # whose products vanish there


def covered(past: Sequence[int | None], families: Sequence[str] = FAMILIES) -> tuple[Case, ...]:
    """Of the kernels that take CHUNK tokens at a time: every two of family, remainder, tiles, D_V, D, heads, dtype, layout and past."""
    factors = {
        "family": families,
        "remainder": REMAINDERS,
        "values": VALUES,
        "tile": ((16, 16), (32, 16), (16, 32), (64, 16)),
        "d": WIDTHS,
        "heads": HEADS,
        "dtype": DTYPES,
        "layout": LAYOUTS,
        "past": past,
    }

    def allowed(row: Row) -> bool:
        chunk, block = row["tile"]
        n, d_v, (b, h) = length(row["family"], chunk, row["remainder"]), columns(row["values"], block), row["heads"]
        return sensible(row) and -(-n // chunk) * -(-d_v // block) * b * h <= MOST_TURNS

    cases = {}
    for row in covering(factors, allowed):
        (chunk, block), (b, h) = row["tile"], row["heads"]
        n, d_v = length(row["family"], chunk, row["remainder"]), columns(row["values"], block)
        case = chunked_case(b, h, n, (row["d"], d_v), row["tile"], **values_of(row))
        cases[case.name] = case
    return tuple(cases.values())


def long(flags: dict[str, int]) -> tuple[Case, ...]:
    """More chunks than anyone writes out by hand, and so many contributions that no state in 16 bits holds their sum."""
    few: dict[str, Any] = {"family": "many_small", "flags": flags}
    return (
        chunked_case(1, 1, 1043, (16, 16), (16, 16), dtype="float16", **few),
        chunked_case(1, 1, 401, (32, 16), (16, 16), dtype="bfloat16", layout="padded", **few),
    )


def special(flags: dict[str, int]) -> tuple[Case, ...]:
    """Small texts of values that are not worth meeting every tile and dtype."""
    in_float32 = ("huge", "one_way", "short_keys", "dwarfing")
    families = (("outlier", "float16"), ("constant", "bfloat16"), *((family, "float32") for family in in_float32))
    return (
        chunked_case(1, 4, 48, (16, 16), (16, 16), family="halfway", flags=flags),
        chunked_case(1, 2, 90, (16, 24), (16, 16), family="blanks", flags=dict.fromkeys(flags, 5)),
        chunked_case(2, 3, 37, (16, 24), (16, 16), layout="roomy", flags=flags),
        chunked_case(2, 2, 37, (32, 32), (16, 16), layout="roomy", dtype="bfloat16", flags=flags),
        *(
            chunked_case(1, 1, 33, (16, 16), (16, 16), family=family, dtype=dtype, flags=flags)
            for family, dtype in families
        ),
    )


def drawn(past: Sequence[int | None]) -> Callable[[Random], tuple[Case, ...]]:
    """Cases like those of `covered`, with sizes as they fall; the last is larger than all of those."""

    def cases(draw: Random) -> tuple[Case, ...]:
        found = []
        for large in (False,) * 5 + (True,):
            chunk, block = 64 if large else draw.choice((16, 32, 64)), draw.choice((16, 32, 64))
            b, h = (1, 1) if large else (draw.randint(1, 2), draw.randint(1, 3))
            n, d_v = draw.randint(1120, 1300) if large else draw.randint(1, 6 * chunk), draw.randint(1, 2 * block)
            values = drawn_values(draw, past)
            found.append(chunked_case(b, h, n, (draw.choice(WIDTHS), d_v), (chunk, block), **values))
        return tuple(found)

    return cases


def drawn_values(draw: Random, past: Sequence[int | None] = (None,)) -> dict[str, Any]:
    """What a case is besides its sizes and tiles."""
    family = draw.choice(FAMILIES)
    dtypes = [dtype for dtype in DTYPES if sensible({"family": family, "dtype": dtype, "remainder": ""})]
    row = {"family": family, "dtype": draw.choice(dtypes), "layout": draw.choice(LAYOUTS), "past": draw.choice(past)}
    return {**values_of(row), "seed": draw.getrandbits(32)}


def values_of(row: Row) -> dict[str, Any]:
    """What a case is besides its sizes and tiles."""
    return {
        **{name: row[name] for name in ("dtype", "family", "layout")},
        **({"flags": {"PAST": row["past"]}} if row.get("past") is not None else {}),
    }
