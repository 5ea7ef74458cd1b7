"""score_tile: the scores of a few queries and keys, one product of two tiles."""

from __future__ import annotations

from dataclasses import replace

import torch

from checker.authoring import Row, Space, cdiv
from checker.authoring.space import ANY_REMAINDER, ROUND, length
from checker.course import attention
from checker.course import attention_values as values
from checker.course.attention import DOMAIN, KEPT, REMAINDERS, attention_table, flash, in_rows
from checker.course.attention_values import WIDTHS, queries_keys_values, scale_of
from checker.course.diagrams import flowing
from checker.course.tensors import once_a_case, row_magnitude
from checker.puzzle import DTYPES, NORMAL, Case, FilmSpec, Tensors, Tolerance

TOLERANCE = {
    "float32": attention.TOLERANCE["float32"],
    "float16": Tolerance(rtol=0.0, c=192 * 2.0**-13),
    "bfloat16": Tolerance(rtol=0.0, c=192 * 2.0**-16),
}
"""In 16 bits 192 steps of float32 of the sum of all magnitudes: the products are exact, and a sequential sum of 128 loses 64 steps.
In float32 an operand may be rounded to TF32, because queries may be scaled before the product."""


def make(case: Case) -> Tensors:
    n_q, n_kv, d = case.sizes["N_Q"], case.sizes["N_KV"], case.sizes["D"]
    q, k, _ = queries_keys_values(case, (n_q, d), (n_kv, d))
    return {
        "q_ptr": in_rows(q, case, "q_ptr"),
        "k_ptr": in_rows(k, case, "k_ptr", gap=21),
        "s_ptr": in_rows(torch.zeros(n_q, n_kv), replace(case, dtype="float32"), "s_ptr", gap=8),
    }


@once_a_case
def magnitude(case: Case, output: str) -> torch.Tensor:
    """The sum of the magnitudes of the terms of each score."""
    made = make(case)
    q, k = (made[name].double().abs() for name in ("q_ptr", "k_ptr"))
    return scale_of(case) * (q @ k.T)


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """What an error is measured against."""
    return row_magnitude(case, output, expected) if case.dtype == "float32" else magnitude(case, output)


def from_row(row: Row) -> Case:
    block_m, block_n = row["tile"]
    sizes = {
        "N_Q": length(row["tiles"] * block_m, block_m, row["queries"], off_edges=False),
        "N_KV": length(block_n, block_n, row["keys"], off_edges=False),
        "D": row["d"],
    }
    meta = {"BLOCK_M": block_m, "BLOCK_N": block_n}
    flags = {"SCALE": row["scale"]} if row["scale"] else {}
    return Case(sizes, meta, row["dtype"], row["family"], row["layout"], flags=flags)


PUZZLE = flash(
    __file__,
    notebook="05_flash_attention",
    points=2,
    grid=lambda n: (cdiv(n["N_Q"], n["BLOCK_M"]),),
    reads={
        "q": 1,
        "k": lambda case: cdiv(case.sizes["N_Q"], case.meta["BLOCK_M"]) * case.sizes["N_KV"] * case.sizes["D"],
    },
    writes={"s": 1},
    because={"q": KEPT, "k": "each program loads all keys once"},
    make=make,
    reference=lambda case, inputs: {"s_ptr": scale_of(case) * (inputs["q_ptr"] @ inputs["k_ptr"].T)},
    scale=scale,
    tolerance=TOLERANCE,
    space=Space(
        {
            "tiles": (3, 1, 2),
            "queries": REMAINDERS,
            "keys": (*REMAINDERS, "alone"),
            "tile": ((16, 16), (64, 32), (32, 64)),
            "dtype": tuple(DTYPES),
            "d": WIDTHS,
            "family": (NORMAL, values.large),
            "layout": ("padded", "contiguous", "repeated queries"),
            "scale": (0.3, 0.0),
        },
        from_row,
        lambda row: "half" not in (row["queries"], row["keys"]) or row["tile"] != (16, 16),
        once={"queries": ROUND, "keys": ROUND},
        wider={"tiles": range(1, 6), "queries": ANY_REMAINDER, "keys": ANY_REMAINDER, "scale": (0.05, 0.41, 0.9, 0.0)},
        largest=({"tiles": 20, "tile": (32, 128), "d": 16},),
    ),
    cases=attention_table("""
        N_Q   N_KV  D    BLOCK_M  BLOCK_N  values       dtype     layout         flags                        on
        3     5     16   16       16
        5     13    16   16       16       -            -         -              SCALE=0.000244140625 TINY_Q
        5     13    16   16       16       -            bfloat16  -              SCALE=1.0 TINY_K
        5     13    16   16       16       vast_scores  -         -              -                            cpu
        21    13    16   16       16       -            -         repeated keys
        597   13    16   32       16
        4099  61    64   64       64       -            float16   padded         -                            gpu
        2053  127   128  64       128      -            bfloat16  -              -                            gpu
        1031  31    32   32       32       large        -         -              -                            gpu
    """),
    domain=replace(
        DOMAIN,
        related={"BLOCK_N is at least N_KV": lambda case: case.meta["BLOCK_N"] >= case.sizes["N_KV"]},
        values="q and k are finite. A score, scale · q · k, is between -1e30 and 1e30, and scale between 2⁻¹² and 1. In float32, q and k "
        "have at most ten bits after the leading one, so TF32 holds them exactly.",
        memory="a row's elements are adjacent. Rows may be any distance apart, even so far that offsets pass 2³²; those of q and k may "
        "repeat, with a stride of 0.",
        accuracy="s is float32. With 16-bit inputs it may be off by a few float32 roundings of scale · Σ |q · k|: products of 16-bit numbers are exact "
        "in float32. With float32 inputs it may be off by 1.5 roundings to TF32, each 2⁻¹¹ of a number, relative to the largest element of its row.",
        expanded=("q", "k"),
    ),
    film=FilmSpec(
        case=Case({"N_Q": 20, "N_KV": 12, "D": 16}, {"BLOCK_M": 16, "BLOCK_N": 16}),
        diagram=flowing(q_ptr=("query", "feature"), k_ptr=("key", "feature"), s_ptr=("query", "key")),
        state={"s": "scores of this tile"},
        choices={"N_Q": (16, 20, 40), "N_KV": (10, 12, 16), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
)
