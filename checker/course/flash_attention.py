"""flash_attention: one head of attention, forward, without ever storing the matrix of scores."""

from __future__ import annotations

import torch

from checker.authoring import cdiv
from checker.course import attention_values as values
from checker.course.attention import (
    FACTORS,
    FILM_STATE,
    KEPT,
    PLAIN_CASES,
    attention,
    attention_space,
    attention_table,
    flash,
    in_rows,
    running,
)
from checker.course.attention_values import queries_keys_values, scale_of
from checker.course.diagrams import attention as diagram
from checker.puzzle import Case, FilmSpec, Tensors


def make(case: Case) -> Tensors:
    n_q, n_kv, d = case.sizes["N_Q"], case.sizes["N_KV"], case.sizes["D"]
    q, k, v = queries_keys_values(case, (n_q, d), (n_kv, d))
    return {
        # in a padded layout all four strides differ
        "q_ptr": in_rows(q, case, "q_ptr"),
        "k_ptr": in_rows(k, case, "k_ptr", gap=21),
        "v_ptr": in_rows(v, case, "v_ptr", gap=9),
        "o_ptr": in_rows(torch.zeros(n_q, d), case, "o_ptr", gap=31),
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    o, _ = attention(inputs["q_ptr"], inputs["k_ptr"], inputs["v_ptr"], scale_of(case))
    return {"o_ptr": o}


def keys_for_every_tile(case: Case) -> int:
    return cdiv(case.sizes["N_Q"], case.meta["BLOCK_M"]) * case.sizes["N_KV"] * case.sizes["D"]


ONCE_A_TILE = "every tile of queries loops over all keys and values once; a running maximum needs no second pass"
ON_CHIP = "scores, weights and half-done rows stay on chip, and nothing of size N_Q × N_KV exists in memory"

PUZZLE = flash(
    __file__,
    notebook="05_flash_attention",
    points=5,
    grid=lambda n: (cdiv(n["N_Q"], n["BLOCK_M"]),),
    reads={"q": 1, "k": keys_for_every_tile, "v": keys_for_every_tile},
    writes={"o": 1},
    because={
        "q": KEPT,
        "k": ONCE_A_TILE,
        "v": ONCE_A_TILE,
        "o": f"the output is written once, at the end, and never read: {ON_CHIP}",
    },
    make=make,
    reference=reference,
    space=attention_space(FACTORS),
    cases=PLAIN_CASES
    + attention_table("""
        N_Q   N_KV    D    BLOCK_M  BLOCK_N  values                dtype     layout  flags      on   why
        21    83      16   16       16       rare_keys             -         padded
        17    577     16   16       16       score_pairs_in_sight  -         -       -          -    too many tiles of keys to unroll by hand
        5     40_003  16   16       256      -                     -         -       -          -    more keys than 16 bits can count
        1     15      128  32       16       large                 bfloat16
        5     1       16   16       16       extreme_scores
        5     613     16   16       16       creeping_scores
        5     2081    16   16       16       rising_slowly         float16   -       -          -    small rises without a rescale
        5     2081    16   16       16       rising_slowly         bfloat16  -       -          -    a factor rounded to 16 bits (rounded_factor)
        65    16      64   128      128      score_pairs_in_sight  -         padded  -          -    tiles larger than any in the space
        21    83      16   16       16       -                     -         repeated keys
        21    83      16   16       16       -                     -         repeated values
        1000  1031    64   64       32       score_pairs_in_sight  -         -       -          gpu
        1024  4096    64   128      64       -                     float16   -       -          gpu
        2053  4099    128  64       64       score_pairs           bfloat16  -       SCALE=0.3  gpu
    """),
    film=FilmSpec(
        case=Case({"N_Q": 48, "N_KV": 64, "D": 16}, {"BLOCK_M": 16, "BLOCK_N": 16}, family=values.ramp),
        diagram=diagram(running()),
        state=FILM_STATE,
        choices={"N_Q": (32, 48, 70), "N_KV": (40, 64, 96), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
)
