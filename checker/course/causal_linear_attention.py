"""causal_linear_attention: one token per step, with the state on chip."""

from __future__ import annotations

from dataclasses import replace

from checker.authoring import Row, Space, cdiv
from checker.course import linear_values as values
from checker.course.diagrams import linear as diagram
from checker.course.linear import (
    ANY_COLUMNS,
    COLUMNS,
    COVERED,
    DOMAIN,
    HEADS,
    LAYOUTS,
    MOST_ITERATIONS,
    ONCE,
    PASTS,
    POWERS,
    WIDTHS,
    causal,
    columns,
    flags_of,
    linear_table,
    sensible,
)
from checker.puzzle import DTYPES, Case, FilmSpec


def from_row(row: Row) -> Case:
    (b, h), d_v = row["heads"], columns(row["values"], row["block"])
    sizes = {"B": b, "H": h, "N": row["tokens"], "D": row["d"], "D_V": d_v}
    return Case(sizes, {"BLOCK_V": row["block"]}, row["dtype"], row["family"], row["layout"], flags=flags_of(row))


def allowed(row: Row) -> bool:
    """Each token is a chunk."""
    (b, h), few = row["heads"], row["tokens"] < 7
    iterations = row["tokens"] * cdiv(columns(row["values"], row["block"]), row["block"]) * b * h
    return sensible({**row, "remainder": "alone" if few else "none"}) and iterations <= max(
        MOST_ITERATIONS, 2 * b * h, 7 * h, row["tokens"]
    )


PUZZLE = causal(
    __file__,
    notebook="14_linear_attention",
    points=5,
    domain=replace(DOMAIN, tiles={"BLOCK_V": 16}),
    space=Space(
        {
            "family": COVERED,
            "tokens": (7, 1, 2, 13, 16),
            "values": COLUMNS,
            "block": (16, 32),
            "d": WIDTHS,
            "heads": HEADS,
            "dtype": tuple(DTYPES),
            "layout": LAYOUTS,
            "past": PASTS,
            "power": POWERS,
        },
        from_row,
        allowed,
        once={
            "family": ONCE,
            "tokens": (3, 5, 8, 11, 12, 17, 19, 23, 31, 33),
            "heads": ((3, 11), (1, 4)),
            "block": (64,),
            "values": (0.5,),
        },
        wider={"tokens": range(1, 15), "block": (16, 32, 64), "values": ANY_COLUMNS},
        largest=({"tokens": 163, "heads": (1, 1), "d": 128, "values": 1.0, "family": values.signs},),
    ),
    cases=linear_table("""
        B  H   N       D    D_V  BLOCK_V  values      dtype     layout  flags     on   why
        1  1   131     16   16   16       many_small  float16   -       PAST=0    -    a state in 16 bits
        1  2   67      128  65   64       many_small  bfloat16  -       PAST=0    -    wide_states_in_16_bits
        4  16  257     128  96   32       -           float16   padded  PAST=100  gpu
        2  4   4099    64   64   64       signs       -         -       -         gpu
        1  2   16_384  64   64   32       -           bfloat16  -       PAST=100  gpu
    """),
    film=FilmSpec(
        case=Case({"B": 1, "H": 1, "N": 8, "D": 16, "D_V": 16}, {"BLOCK_V": 16}, family=values.growing),
        diagram=diagram(),
        state={"state": "φ(K)ᵀ V so far", "z": "sum of φ(K)"},
        choices={"N": (5, 8, 12), "D_V": (16, 24, 32)},
    ),
)
