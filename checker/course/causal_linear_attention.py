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
    return sensible({**row, "remainder": "short" if few else "none"}) and iterations <= MOST_ITERATIONS


PUZZLE = causal(
    __file__,
    notebook="10_linear_attention",
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
            "past": (11, 0),
        },
        from_row,
        allowed,
        wider={"tokens": range(1, 15), "block": (16, 32, 64), "values": ANY_COLUMNS},
        largest=({"tokens": 163, "heads": (1, 1), "d": 128, "values": 1.0, "family": values.signs},),
    ),
    cases=linear_table("""
        B  H   N       D    D_V  BLOCK_V  values         dtype     layout      flags     on   why
        1  1   131     16   16   16       many_small     float16   -           PAST=0
        1  1   67      32   16   16       many_small     bfloat16  padded      PAST=0
        2  1   16      16   48   32       -              -         -           PAST=11   -    16 divides every size, a tile divides none
        1  4   7       16   16   16       halfway        -         -           PAST=0
        1  1   5       16   16   16       frozen         -         -           PAST=11
        1  1   3       16   16   16       warm           -         -           PAST=0
        2  2   67      16   16   16       cold           -         -           PAST=0
        1  1   130     16   16   16       freezing       -         -           PAST=0
        1  1   5       16   33   16       huge           -         -           PAST=0
        1  2   11      16   16   16       blanks         -         -           PAST=5
        1  1   7       16   16   16       short_keys     -         -           PAST=0
        1  1   7       16   16   16       dwarfing       -         -           PAST=0
        1  1   7       16   17   16       one_way        -         -           PAST=11
        2  3   5       16   24   16       -              -         roomy       PAST=11
        1  1   13      16   16   16       outlier        float16   -           PAST=0
        1  1   5       16   16   16       constant       bfloat16  -           PAST=0
        2  1   31      16   33   32       half_frozen    -         padded      PAST=3
        1  1   17      32   33   16       cold           -         padded      PAST=3
        1  2   8       128  40   32       contributions  float16   padded      PAST=11
        2  3   48      64   24   32       -              float16   padded      PAST=0
        3  1   129     64   12   32       signs          bfloat16  -           PAST=11
        1  1   66      128  32   32       hot            bfloat16  transposed  PAST=11
        1  2   19      32   33   16       -              float16   transposed  PAST=11
        2  2   1       32   40   16       -              bfloat16  padded      PAST=11
        1  2   37      16   16   16       faint          -         -           -         -    many tokens, several slices of values
        2  3   1       16   31   16       cold           -         -           PAST=11
        2  3   35      32   47   16       contributions  bfloat16  padded      PAST=11
        1  2   67      128  65   64       many_small     bfloat16  -           PAST=0
        2  3   19      128  47   16       cold           bfloat16  padded      PAST=11
        1  2   130     32   47   16       -              float16   padded      PAST=11
        4  16  257     128  96   32       -              float16   padded      PAST=100  gpu
        2  4   4099    64   64   64       signs          -         -           -         gpu
        1  2   16_384  64   64   32       -              bfloat16  -           PAST=100  gpu
    """),
    film=FilmSpec(
        case=Case({"B": 1, "H": 1, "N": 8, "D": 16, "D_V": 16}, {"BLOCK_V": 16}, family=values.growing),
        diagram=diagram(),
        state={"state": "φ(K)ᵀ V so far", "z": "sum of φ(K)"},
        choices={"N": (5, 8, 12), "D_V": (16, 24, 32)},
    ),
)
