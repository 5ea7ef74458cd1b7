"""Cases of linear attention: a covering array, special ones that three puzzles share, and random ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from checker.authoring.covering import Row, covering
from checker.authoring.space import length
from checker.course.family_words import case_of
from checker.puzzle import CPU, Case

FAMILIES = ("contributions", "growing", "signs", "hot", "cold")
"""The families in the covering arrays."""
CHUNKS = {"contributions": 6}
"""How many chunks a family needs to show what it is for, if not three."""
REMAINDERS = ("one", "none", "all but one", "prime", "short", "alone")
VALUES = ("one more", "all", "full", "all but one", "one")
WIDTHS = (16, 32, 64, 128)
HEADS = ((1, 2), (1, 1), (1, 5), (2, 2))
LAYOUTS = ("padded", "transposed", "contiguous")
DTYPES = ("float32", "float16", "bfloat16")
MOST_TURNS = 24
"""Limit on the loop iterations of all programs together, which is what a case costs to simulate."""


def tokens(family: str, tile: int, remainder: str) -> int:
    """How many tokens a text in tiles has, of which the last is as full as `remainder` says (`covering.length`)."""
    return length(tile * CHUNKS.get(family, 3), tile, remainder, off_edges=False)


def columns(values: str, block: int) -> int:
    """D_V for slices of `block` columns: one slice, three, four and one column more, one column less than a slice, or a single one."""
    return {"all": block, "full": 3 * block, "one more": 4 * block + 1, "all but one": block - 1, "one": 1}[values]


def sensible(row: Row) -> bool:
    """False for rows that cannot show what their family is for."""
    family = row["family"]
    if family == "contributions" and row["remainder"] in ("short", "alone"):
        return False
    return not (family == "cold" and row["dtype"] == "float16")  # whose products vanish there


def chunked_case(b: int, h: int, n: int, d: tuple[int, int], block: tuple[int, int], **more: Any) -> Case:
    """A case of `n` tokens, `d` = (D, D_V) and `block` = (CHUNK, BLOCK_V), with a name made of everything that distinguishes it."""
    sizes = {"B": b, "H": h, "N": n, "D": d[0], "D_V": d[1]}
    return case_of(sizes, {"CHUNK": block[0], "BLOCK_V": block[1]}, **more)


Past = Sequence[int | None]
"""Numbers of earlier tokens to try; (None,) for a kernel without an initial state."""


def covered(past: Past) -> tuple[Case, ...]:
    """Cases in chunks that cover all values in pairs: family, remainder, tiles, D_V, D, heads, dtype, layout and past."""
    factors = {
        "family": FAMILIES,
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
        n, d_v, (b, h) = tokens(row["family"], chunk, row["remainder"]), columns(row["values"], block), row["heads"]
        return sensible(row) and -(-n // chunk) * -(-d_v // block) * b * h <= MOST_TURNS

    cases = []
    for row in covering(factors, allowed):
        (chunk, block), (b, h) = row["tile"], row["heads"]
        n, d_v = tokens(row["family"], chunk, row["remainder"]), columns(row["values"], block)
        cases.append(chunked_case(b, h, n, (row["d"], d_v), row["tile"], **values_of(row)))
    return tuple(dict.fromkeys(cases))


def shared_cases(past: Past) -> tuple[Case, ...]:
    """The covering array, and what all kernels that work in chunks are tried on besides."""
    first, after, five = ({} if past == (None,) else {"flags": {"PAST": count}} for count in (0, 11, 5))
    in_float32 = ("huge", "one_way", "short_keys", "dwarfing")
    families = (("outlier", "float16"), ("constant", "bfloat16"), *((family, "float32") for family in in_float32))
    tile = (16, 16)
    return (
        *covered(past),
        # too many chunks to unroll by hand, and more contributions than a state in 16 bits can hold
        chunked_case(1, 1, 1043, (16, 16), tile, dtype="float16", family="many_small", **first),
        chunked_case(1, 1, 401, (32, 16), tile, dtype="bfloat16", layout="padded", family="many_small", **first),
        # values and layouts for which one tile shape is enough
        chunked_case(1, 4, 48, (16, 16), tile, family="halfway", **first),
        chunked_case(1, 2, 90, (16, 24), tile, family="blanks", **five),
        chunked_case(2, 3, 37, (16, 24), tile, layout="roomy", **first),
        chunked_case(2, 2, 37, (32, 32), tile, layout="roomy", dtype="bfloat16", **first),
        *(chunked_case(1, 1, 33, (16, 16), tile, family=family, dtype=dtype, **first) for family, dtype in families),
        chunked_case(1, 1, 300, (16, 16), (64, 16), family="freezing", **first),
        chunked_case(1, 1, 300, (16, 16), (256, 16), devices=CPU, **first),  # more lanes than 8 bits can count
        chunked_case(1, 1, 48, (16, 16), (32, 32), **after),  # 16 divides every size, a tile divides none
    )


def drawn(past: Past) -> Callable[[Random], tuple[Case, ...]]:
    """Cases like those of `covered` with random sizes. The last one is larger than any known case."""

    def cases(draw: Random) -> tuple[Case, ...]:
        found = []
        for number in range(7):
            large, longest = number == 5, number == 6
            chunk = 128 if longest else 64 if large else draw.choice((16, 32, 64))
            block, d = (16, 16) if longest else (draw.choice((16, 32, 64)), draw.choice(WIDTHS))
            b, h = (1, 1) if large or longest else (draw.randint(1, 2), draw.randint(1, 3))
            n = draw.randint(*((33_004, 36_000) if longest else (1120, 1300) if large else (1, 6 * chunk)))
            d_v, values = draw.randint(1, 2 * block), drawn_values(draw, past)
            if longest:  # so many terms do not fit in float16, and of so many rows a narrow one nearly cancels
                d_v, values = draw.randint(block, 2 * block), {**values, "dtype": "float32", "family": "normal"}
            found.append(chunked_case(b, h, n, (d, d_v), (chunk, block), **values))
        return tuple(found)

    return cases


def drawn_values(draw: Random, past: Past = (None,)) -> dict[str, Any]:
    """Random values for the fields of a case other than sizes and tiles."""
    family = draw.choice(FAMILIES)
    dtypes = [dtype for dtype in DTYPES if sensible({"family": family, "dtype": dtype, "remainder": ""})]
    row = {"family": family, "dtype": draw.choice(dtypes), "layout": draw.choice(LAYOUTS), "past": draw.choice(past)}
    return {**values_of(row), "seed": draw.getrandbits(32)}


def values_of(row: Row) -> dict[str, Any]:
    """The fields of a case, apart from sizes and tiles, that a row of factors gives."""
    return {
        **{name: row[name] for name in ("dtype", "family", "layout")},
        **({"flags": {"PAST": row["past"]}} if row.get("past") is not None else {}),
    }
