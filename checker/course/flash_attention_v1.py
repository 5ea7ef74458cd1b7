"""flash_attention_v1: the loop order of the first FlashAttention paper, state kept in global memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch

from checker.authoring import Row, cdiv
from checker.course import attention_values as values
from checker.course.attention import (
    DOMAIN,
    FACTORS,
    FILM_STATE,
    MANY_KEYS,
    MANY_TILES,
    PLAIN_CASES,
    ROUNDED,
    STATISTICS,
    WIDER,
    Moved,
    attention,
    attention_space,
    attention_table,
    extended,
    flash,
    running,
    statistics_scale,
)
from checker.course.attention import scale as attention_scale
from checker.course.attention_values import IN_ORDER, queries_keys_values, scale_of
from checker.course.diagrams import attention as diagram
from checker.course.tensors import once_a_case, stored
from checker.puzzle import DTYPES, Case, FilmSpec, Tensors


def make(case: Case) -> Tensors:
    """q and o share their strides, and so do k and v."""
    h, n_q, n_kv, d = (case.sizes[name] for name in ("H", "N_Q", "N_KV", "D"))
    q, k, v = queries_keys_values(case, (h, n_q, d), (h, n_kv, d))
    return {
        "q_ptr": laid_out(q, case, 13),
        "k_ptr": keys_laid_out(k, case),
        "v_ptr": keys_laid_out(v, case),
        "o_ptr": laid_out(torch.zeros(h, n_q, d), replace(case, dtype="float32"), 13),
        "m_ptr": torch.zeros(h, n_q, dtype=torch.float32),
        "l_ptr": torch.zeros(h, n_q, dtype=torch.float32),
    }


REPEATED = {"repeated heads": 0, "repeated keys": 1}
"""Layouts in which k and v hold one head or one key that is repeated, with a stride of 0; q and o, which share their strides, are padded."""


def keys_laid_out(x: torch.Tensor, case: Case) -> torch.Tensor:
    """k or v in the case's dtype and layout."""
    axis = REPEATED.get(case.layout)
    return laid_out(x if axis is None else x.narrow(axis, 0, 1), case, 21).expand(x.shape)


def laid_out(x: torch.Tensor, case: Case, gap: int) -> torch.Tensor:
    """`x` [H, N, D] in the case's dtype and layout.

    In a padded layout the head stride is the larger one, with a gap after each head. An interleaved one lies as [N, H, D] in memory.
    """
    h, n, d = x.shape
    if case.layout in REPEATED:
        case = replace(case, layout="padded")
    if case.layout == "interleaved":
        wide = torch.full((n, h, d + gap), torch.nan, dtype=DTYPES[case.dtype])
        return wide[..., :d].transpose(0, 1).copy_(x)
    rows = stored(x, case, gap)
    if case.layout != "padded":
        return rows
    row, head = rows.stride(1), (n + 2) * rows.stride(1) + 5
    wide = torch.full((h * head,), torch.nan, dtype=rows.dtype)
    return torch.as_strided(wide, (h, n, d), (head, row, 1)).copy_(rows)


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Dao et al. 2022 (FlashAttention), algorithm 1: O, and for each query the maximum m and the sum l of exp(s - m)."""
    q, k, v, scale = inputs["q_ptr"], inputs["k_ptr"], inputs["v_ptr"], scale_of(case)
    o, _ = attention(q, k, v, scale)
    m, l = torch.empty_like(o[..., 0]), torch.empty_like(o[..., 0])
    for head in range(q.shape[0]):  # one after another, as in `attention`
        s = (q[head] @ k[head].T) * scale
        m[head] = s.amax(dim=-1)
        l[head] = torch.exp(s - m[head, :, None]).sum(dim=-1)
    return {"o_ptr": o, "m_ptr": m, "l_ptr": l}


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """What an error is measured against; for l that of its logarithm, times l."""
    if output == "o_ptr":
        return attention_scale(case, output, expected)
    return statistic_scale(case, output) * (expected if output == "l_ptr" else 1)


@once_a_case
def statistic_scale(case: Case, output: str) -> torch.Tensor:
    """[H, N_Q]"""
    made = make(case)
    moved = Moved.by_rounding(made["q_ptr"].double(), made["k_ptr"].double(), scale_of(case))
    return statistics_scale(case, moved.m if output == "m_ptr" else moved.log_l, moved.m)


def at_every_visit(*shape: str, but: int = 0) -> Callable[[Case], int]:
    """The elements of a tensor of this shape, once for every tile of keys `but` so many."""

    def elements(case: Case) -> int:
        visits = cdiv(case.sizes["N_KV"], case.meta["BLOCK_N"]) - but
        return visits * math.prod(case.sizes[name] for name in shape)

    return elements


def few_tiles(row: Row) -> bool:
    """Leaves out cases of many heads and many tiles, which take long."""
    return row["heads"] == 1 or row["family"] not in IN_ORDER


QUERIES, ROWS = ("H", "N_Q", "D"), ("H", "N_Q")
VISITS = "loaded at every visit but the first, stored at every visit"

# Dao et al. 2022, theorem 2: K and V once, Q and O once for every tile of keys
PUZZLE = flash(
    __file__,
    notebook="06_other_loop_order",
    points=3,
    grid=lambda n: (n["H"],),
    options=lambda n: {"num_warps": 4, "num_stages": 1},
    reads={
        "q": at_every_visit(*QUERIES),
        "k": 1,
        "v": 1,
        "o": at_every_visit(*QUERIES, but=1),
        "m": at_every_visit(*ROWS, but=1),
        "l": at_every_visit(*ROWS, but=1),
    },
    writes={"o": at_every_visit(*QUERIES), "m": at_every_visit(*ROWS), "l": at_every_visit(*ROWS)},
    because={
        "q": "all queries pass by for every tile of keys",
        "k": "a tile of keys is loaded once",
        "v": "a tile of values is loaded once",
        **dict.fromkeys(("o", "m", "l"), VISITS),
    },
    domain=replace(
        DOMAIN,
        sizes={"H": (), **DOMAIN.sizes},
        memory="a row's elements are adjacent. Heads and rows may be any distance apart, even so far that offsets pass 2³²; those of k and v "
        "may repeat, with a stride of 0. m and l are contiguous.",
        accuracy=f"{ROUNDED}. m and l are float32 and may be off by 0.0008 % plus the rounding of the scores.",
        expanded=("k", "v"),
    ),
    make=make,
    reference=reference,
    scale=scale,
    output_tolerance={"m_ptr": STATISTICS, "l_ptr": STATISTICS},
    space=attention_space(
        {"heads": (1, 2, 3), **FACTORS, "layout": ("padded", "interleaved", "repeated heads")},
        sizes=lambda row: {"H": row["heads"]},
        allowed=few_tiles,
        wider={**WIDER, "heads": (1, 2, 3, 5)},
        largest=(MANY_TILES | {"heads": 2}, MANY_KEYS | {"heads": 1}),
    ),
    cases=extended(PLAIN_CASES, {"H": 1})
    + attention_table("""
        H    N_Q  N_KV    D    BLOCK_M  BLOCK_N  values                dtype     layout       flags      seed  on   why
        2    1    45      64   16       16       score_pairs_in_sight  float16
        2    21   83      16   16       16       rare_keys             -         padded
        17   5    7       16   16       16       score_pairs_in_sight  -         -            -          -     -    many heads
        2    21   83      16   16       16       -                     -         repeated keys
        5    17   577     16   16       16       score_pairs_in_sight  -         -            -          -     -    too many tiles of keys to unroll by hand
        1    5    40_003  16   16       1024     score_pairs_in_sight  -         -            -          -     cpu  more keys than 16 bits can count
        5    37   71      16   16       16       large                 bfloat16  padded
        1    5    597     16   16       16       creeping_scores
        1    5    2081    16   16       16       rising_slowly         float16   -            -          -     -    small rises without a rescale
        1    5    2081    16   16       16       rising_slowly         bfloat16  -            -          -     -    a factor rounded to 16 bits (rounded_factor)
        3    65   16      64   128      128      score_pairs_in_sight  -         padded       -            -     -    tiles larger than any in the space
        64   258  259     64   64       32       score_pairs_in_sight  -         -            -          -     gpu
        132  200  260     64   32       64       -                     float16   -            -          -     gpu
        8    777  1024    128  64       64       score_pairs           bfloat16  -            SCALE=0.3  -     gpu
    """),
    film=FilmSpec(
        case=Case({"H": 1, "N_Q": 48, "N_KV": 64, "D": 16}, {"BLOCK_M": 16, "BLOCK_N": 16}, family=values.ramp),
        diagram=diagram(
            running(names=("m_new", "l_new"), in_memory=True), ("m_ptr", "l_ptr"), accumulator=("o", "acc")
        ),
        state=FILM_STATE | {"acc": "output times its sum"},
        choices={"N_Q": (32, 48, 70), "N_KV": (40, 64, 96), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
)
