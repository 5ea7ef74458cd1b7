"""causal_linear_attention: one token per step, with the state on chip."""

from __future__ import annotations

from random import Random
from typing import Any

from checker.authoring import puzzle
from checker.authoring.covering import Row, covering
from checker.course.diagrams import linear
from checker.course.family_words import case_of
from checker.course.linear_cases import (
    FAMILIES,
    HEADS,
    LAYOUTS,
    MOST_TURNS,
    VALUES,
    WIDTHS,
    columns,
    drawn_values,
    sensible,
    values_of,
)
from checker.course.linear_causal import OUTPUTS, budget, launch, make, reference
from checker.course.linear_inputs import LONG, OUTPUT_TOLERANCE, TOLERANCE, magnitude
from checker.puzzle import GPU, Case, FilmSpec


def _case(b: int, h: int, n: int, d: tuple[int, int], block_v: int, **more: Any) -> Case:
    return case_of({"B": b, "H": h, "N": n, "D": d[0], "D_V": d[1]}, {"BLOCK_V": block_v}, **more)


_FIRST: dict[str, int] = {"PAST": 0}
_AFTER: dict[str, int] = {"PAST": 11}


def _covered() -> tuple[Case, ...]:
    """Cases that cover all values in pairs: family, tokens, BLOCK_V, D_V, D, heads, dtype, layout and past. Each token is a chunk."""
    factors = {
        "family": FAMILIES,
        "tokens": (7, 1, 2, 13, 16),
        "values": VALUES,
        "block": (16, 32),
        "d": WIDTHS,
        "heads": HEADS,
        "dtype": tuple(TOLERANCE),
        "layout": LAYOUTS,
        "past": (11, 0),
    }

    def allowed(row: Row) -> bool:
        few, (b, h) = row["tokens"] < 7, row["heads"]
        turns = row["tokens"] * -(-columns(row["values"], row["block"]) // row["block"]) * b * h
        return sensible({**row, "remainder": "short" if few else "none"}) and turns <= MOST_TURNS

    found = []
    for row in covering(factors, allowed):
        (b, h), widths = row["heads"], (row["d"], columns(row["values"], row["block"]))
        found.append(_case(b, h, row["tokens"], widths, row["block"], **values_of(row)))
    return tuple(dict.fromkeys(found))


def _drawn(draw: Random) -> tuple[Case, ...]:
    """Random cases. The last one is larger than any known case."""
    found = []
    for large in (False,) * 5 + (True,):
        b, h, n = (
            (1, 1, draw.randint(140, 180)) if large else (draw.randint(1, 2), draw.randint(1, 3), draw.randint(1, 14))
        )
        block = draw.choice((16, 32, 64))
        widths = (128 if large else draw.choice(WIDTHS), block if large else draw.randint(1, 2 * block))
        found.append(_case(b, h, n, widths, block, **drawn_values(draw, (0, 11))))
    return tuple(found)


PUZZLE = puzzle(
    __file__,
    notebook="10_linear_attention",
    points=5,
    outputs=OUTPUTS,
    cases=(
        *_covered(),
        _case(1, 1, 131, (16, 16), 16, dtype="float16", family="many_small", flags=_FIRST),
        _case(1, 1, 67, (32, 16), 16, dtype="bfloat16", family="many_small", layout="padded", flags=_FIRST),
        _case(2, 1, 16, (16, 48), 32, flags=_AFTER),  # 16 divides every size, a tile divides none
        _case(1, 4, 7, (16, 16), 16, family="halfway", flags=_FIRST),
        _case(1, 1, 5, (16, 16), 16, family="frozen", flags=_AFTER),
        _case(1, 1, 3, (16, 16), 16, family="warm", flags=_FIRST),
        _case(2, 2, 67, (16, 16), 16, family="cold", flags=_FIRST),
        _case(1, 1, 130, (16, 16), 16, family="freezing", flags=_FIRST),
        _case(1, 1, 5, (16, 33), 16, family="huge", flags=_FIRST),
        _case(1, 2, 11, (16, 16), 16, family="blanks", flags={"PAST": 5}),
        _case(1, 1, 7, (16, 16), 16, family="short_keys", flags=_FIRST),
        _case(1, 1, 7, (16, 16), 16, family="dwarfing", flags=_FIRST),
        _case(1, 1, 7, (16, 17), 16, family="one_way", flags=_AFTER),
        _case(2, 3, 5, (16, 24), 16, layout="roomy", flags=_AFTER),
        _case(1, 1, 13, (16, 16), 16, dtype="float16", family="outlier", flags=_FIRST),
        _case(1, 1, 5, (16, 16), 16, dtype="bfloat16", family="constant", flags=_FIRST),
        # for mistakes that show in few cases only
        _case(2, 1, 31, (16, 33), 32, family="half_frozen", layout="padded", flags={"PAST": 3}),
        _case(1, 1, 17, (32, 33), 16, family="cold", layout="padded", flags={"PAST": 3}),
        _case(1, 2, 8, (128, 40), 32, dtype="float16", family="contributions", layout="padded", flags=_AFTER),
        _case(2, 3, 48, (64, 24), 32, dtype="float16", layout="padded", flags=_FIRST),
        _case(3, 1, 129, (64, 12), 32, dtype="bfloat16", family="signs", flags=_AFTER),
        _case(1, 1, 66, (128, 32), 32, dtype="bfloat16", family="hot", layout="transposed", flags=_AFTER),
        _case(1, 2, 19, (32, 33), 16, dtype="float16", layout="transposed", flags=_AFTER),
        _case(2, 2, 1, (32, 40), 16, dtype="bfloat16", layout="padded", flags=_AFTER),
        # many tokens and several slices of values
        _case(1, 2, 37, (16, 16), 16, family="faint"),
        _case(2, 3, 1, (16, 31), 16, family="cold", flags=_AFTER),
        _case(2, 3, 35, (32, 47), 16, dtype="bfloat16", family="contributions", layout="padded", flags=_AFTER),
        _case(1, 2, 67, (128, 65), 64, dtype="bfloat16", family="many_small", flags=_FIRST),
        _case(2, 3, 19, (128, 47), 16, dtype="bfloat16", family="cold", layout="padded", flags=_AFTER),
        # added for mistakes that only a GPU's larger cases had shown
        _case(1, 2, 130, (32, 47), 16, dtype="float16", layout="padded", flags=_AFTER),
        _case(4, 16, 257, (128, 96), 32, devices=GPU, dtype="float16", layout="padded", flags={"PAST": 100}),
        _case(2, 4, 4099, (64, 64), 64, devices=GPU, family="signs"),
        _case(1, 2, 16_384, (64, 64), 32, devices=GPU, dtype="bfloat16", flags={"PAST": 100}),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=magnitude,
    tolerance=TOLERANCE,
    output_tolerance=OUTPUT_TOLERANCE,
    long=LONG,
    film=FilmSpec(
        case=_case(1, 1, 8, (16, 16), 16, family="growing"),
        diagram=linear(),
        state={"state": "φ(K)ᵀ V so far", "z": "sum of φ(K)"},
        choices={"N": (5, 8, 12), "D_V": (16, 24, 32)},
    ),
    drawn=_drawn,
)
