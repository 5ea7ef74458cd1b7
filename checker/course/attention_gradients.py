"""The gradients of attention with heads: inputs, the gradients in float64, how much error is allowed, and cases.

With P = exp(scale · Q Kᵀ − lse), where a query sees a key, and dP = dO Vᵀ:

    dV = Pᵀ dO,   dS = P ∘ (dP − Δ),   dQ = scale · dS K,   dK = scale · dSᵀ Q

(Dao 2023, FlashAttention-2, algorithm 2). The log-sum-exp and Δ = rowsum(dO ∘ O) of every query are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import NamedTuple

import torch

from checker.authoring.covering import Row
from checker.course import attention_cases
from checker.course.attention_cases import covered
from checker.course.attention_heads import (
    CAUSAL,
    CAUSAL_FULL,
    CAUSAL_RAGGED,
    FACTORS_OF_HEADS,
    FULL,
    FULL_SCALED,
    MIXED,
    RAGGED,
    from_row,
    heads_case,
    key_lengths,
    laid_out,
    seen,
    sizes,
    with_padding,
)
from checker.course.attention_inputs import LARGE, attention, distinct_values, queries_keys_values, scale_of
from checker.course.tensors import generator, once_a_case
from checker.puzzle import DTYPES, GPU, TIMED, Case, Tensors

MANY_SMALL = "many_small"
"""The family in which the first query and the first key add so much to every gradient that a sum in 16 bits loses the rest."""
TOLERANCE = {dtype: replace(of, c=1.5 * of.c) for dtype, of in attention_cases.TOLERANCE.items()}
"""Two roundings of every term: the gradient may lose half a step of its own size, and three of the terms it sums (`lost`).

Correct arithmetic loses at most half of that: half a step for a product's operand, a whole one where the tensor core truncates a
float32, and half a step for the gradient itself.
"""


class Gradients(NamedTuple):
    """[B, H_Q, N_Q, D] and twice [B, H_KV, N_KV, D], float64."""

    dq: torch.Tensor
    dk: torch.Tensor
    dv: torch.Tensor


def inputs(case: Case) -> Tensors:
    """q, k, v and do in the case's dtype and layout, log-sum-exp and Δ [B, H_Q, N_Q] in float32, and the key lengths [B].

    A query that sees no key has a log-sum-exp of -inf and a Δ of 0.
    """
    b, h_q, h_kv, n_q, n_kv, d = sizes(case)
    if case.family.name == MANY_SMALL:
        q, k, v, do = _many_small(case)
    else:
        q, k, v = queries_keys_values(case, (b, h_q, n_q, d), (b, h_kv, n_kv, d))
        do = distinct_values(q.shape, _generator(case)) * _shrunk(case)
        if case.family.name == "one_way":
            do = -do.abs()
        if case.family.name == "blanks":  # every row adds up to exactly 0
            do[..., 1::2] = -do[..., ::2]
    lengths = key_lengths(case)
    k, v = with_padding(k, v, lengths)
    do = do.to(q.dtype)
    keys, values = (x.double().repeat_interleave(h_q // h_kv, dim=1) for x in (k, v))
    o, lse = attention(q.double(), keys, values, scale_of(case), seen(case, lengths))
    return {
        "q_ptr": laid_out(q, case, "q_ptr"),
        "k_ptr": laid_out(k, case, "k_ptr"),
        "v_ptr": laid_out(v, case, "v_ptr"),
        "do_ptr": laid_out(do, case, "do_ptr"),
        "lse_ptr": lse.float(),
        "delta_ptr": (do.double() * o).sum(dim=-1).float(),
        "key_lengths_ptr": lengths,
    }


def make(case: Case, outputs: tuple[str, ...]) -> Tensors:
    """The inputs, and zeros for gradients in the case's dtype and layout, each as large as what it is the gradient of."""
    given = inputs(case)
    lengths = given.pop("key_lengths_ptr")
    like = {name: given["q_ptr" if name == "dq_ptr" else "k_ptr"] for name in outputs}
    zeros = {name: laid_out(torch.zeros_like(x), case, name) for name, x in like.items()}
    return {**given, **zeros, "key_lengths_ptr": lengths}


def _generator(case: Case) -> torch.Generator:
    """Numbers independent of those in q, k and v."""
    return torch.Generator().manual_seed(generator(case).initial_seed() + 1)


def _shrunk(case: Case) -> float:
    """The factor of dO that keeps dO Vᵀ within the range of the dtype when the values are large."""
    if case.family.name != "large":
        return 1.0
    return 4 / LARGE[case.dtype] if case.dtype == "float16" else 1 / LARGE[case.dtype]


def _many_small(case: Case) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, k, v and do. Each tile of queries after the first adds a quarter of a step to dK and dV, each tile of keys to dQ.

    Queries have only even features and keys only odd ones, so every score is 0. The rows of dO have one direction, and the first
    is the longest. The values have one direction too, except that the first is reversed: its dS is as large as all others together.
    """
    b, h_q, h_kv, n_q, n_kv, d = sizes(case)
    g, dtype = _generator(case), DTYPES[case.dtype]
    step = torch.finfo(dtype).eps / 4
    q, k = distinct_values((b, h_q, n_q, d), g).abs(), distinct_values((b, h_kv, n_kv, d), g).abs()
    q[..., 1::2], k[..., ::2] = 0.0, 0.0
    k[..., 1:, :] *= step * max(n_kv - 1, 1) / case.meta["BLOCK_N"]
    k[..., 0, :] *= -1
    v = distinct_values((b, h_kv, 1, d), g).repeat(1, 1, n_kv, 1)
    v[..., 0, :] *= -1
    do = 64 * distinct_values((b, h_q, 1, d), g).repeat(1, 1, n_q, 1)
    do[..., 1:, :] *= step / case.meta["BLOCK_M"]
    return q.to(dtype), k.to(dtype), v.to(dtype), do


class _Head(NamedTuple):
    """One query head with its key head, all matrices in float64."""

    at: tuple[int, int, int]  # batch, query head, key head
    q: torch.Tensor  # [N_Q, D]
    k: torch.Tensor  # [N_KV, D]
    v: torch.Tensor  # [N_KV, D]
    do: torch.Tensor  # [N_Q, D]
    lse: torch.Tensor  # [N_Q, 1]
    delta: torch.Tensor  # [N_Q, 1]
    seen: torch.Tensor  # [N_Q, N_KV]


def _heads(case: Case, tensors: Tensors) -> Iterator[_Head]:
    b, h_q, h_kv, *_ = sizes(case)
    visible = seen(case, tensors["key_lengths_ptr"])
    for i in range(b):
        for h in range(h_q):
            g = h // (h_q // h_kv)
            q, do, lse, delta = (tensors[f"{name}_ptr"][i, h].double() for name in ("q", "do", "lse", "delta"))
            k, v = (tensors[f"{name}_ptr"][i, g].double() for name in "kv")
            yield _Head((i, h, g), q, k, v, do, lse[:, None], delta[:, None], visible[i, 0])


def gradients(case: Case, tensors: Tensors) -> Gradients:
    """dQ, dK and dV in float64 from the given log-sum-exp and Δ. dK and dV are summed over the query heads that share a key head."""
    dq, dk, dv = (torch.zeros(tensors[name].shape, dtype=torch.float64) for name in ("q_ptr", "k_ptr", "v_ptr"))
    scale = scale_of(case)
    for head in _heads(case, tensors):
        i, h, g = head.at
        p, away = _weights(head, scale)
        ds = p * away
        dq[i, h] = scale * (ds @ head.k)
        dk[i, g] += scale * (ds.T @ head.q)
        dv[i, g] += p.T @ head.do
    return Gradients(dq, dk, dv)


def _weights(head: _Head, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """P and dP − Δ [N_Q, N_KV]; both 0 where the key is not seen."""
    p = torch.exp(((head.q @ head.k.T) * scale - head.lse).masked_fill(~head.seen, -torch.inf))
    return p, (head.do @ head.v.T - head.delta).masked_fill(~head.seen, 0.0)


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """What an error is measured against: `lost`, whatever is expected."""
    return lost(case, output)


@once_a_case
def lost(case: Case, output: str) -> torch.Tensor:
    """The scale of an error in each element of a gradient: the sum of its terms' magnitudes, 0 where it has no term.

    A term loses at most half a step of its dtype when its factor P or dS is rounded for the product (TF32 for float32). In the same
    unit this adds what float32 loses: in a score, an error that P's exponent inherits; in dP − Δ, where large numbers may cancel;
    and in numbers too small for the dtype.
    """
    given, scale, dtype = inputs(case), scale_of(case), DTYPES[case.dtype]
    half, single = {torch.bfloat16: 2.0**-8}.get(dtype, 2.0**-11), 2.0**-22
    least = 2.0**-25 if dtype == torch.float16 else 2.0**-126
    total = torch.zeros(given["q_ptr" if output == "dq_ptr" else "k_ptr"].shape, dtype=torch.float64)
    for head in _heads(case, given):
        i, h, g = head.at
        p, away = _weights(head, scale)
        size = (head.q.abs() @ head.k.abs().T) * scale + head.lse.abs()
        rounded = half + single * (1 + size.masked_fill(~head.seen, 0.0))
        p_lost = p * rounded + least * head.seen
        if output == "dv_ptr":
            total[i, g] += p_lost.T @ head.do.abs()
            continue
        ds_lost = p * (away.abs() * rounded + single * (head.do.abs() @ head.v.abs().T))
        ds_lost = ds_lost + least / min(scale, 1.0) * head.seen  # scaled before it is rounded or after
        if output == "dq_ptr":
            total[i, h] = scale * (ds_lost @ head.k.abs())
        else:
            total[i, g] += scale * (ds_lost.T @ head.q.abs())
    total = total / half
    return torch.where(total > 0, total.clamp(min=torch.finfo(dtype).tiny), 0.0)


# ---------------------------------------------------------------------------------------------------------------- cases

_FACTORS = {
    **FACTORS_OF_HEADS,
    "heads": ((4, 2), (2, 2), (6, 2), (8, 1)),
    "family": ("large", "normal", "negative", "positive"),
}


def _allowed(row: Row) -> bool:
    """Leaves out many heads of many batches, which take long."""
    return row["batches"] * row["heads"][0] <= 8


def every_pair() -> tuple[Case, ...]:
    """Small cases that cover all values of the factors in pairs."""
    return covered(from_row, _FACTORS, _allowed)


Order = Callable[[int, int], tuple[int, int]]
"""Two numbers by query and by key, from the one that a program walks over and the one that programs share."""


def shared_cases(order: Order) -> tuple[Case, ...]:
    """Layouts, families and lengths for both kernels. Most were added for mistakes that show in few cases only."""
    return (
        heads_case(2, (4, 2), (21, 37), 16, (16, 16), layout="roomy"),
        *(heads_case(2, (2, 1), (21, 37), 16, (16, 16), layout=layout) for layout in MIXED),
        heads_case(2, (4, 2), (37, 21), 32, (16, 32), CAUSAL, dtype="float16", layout="roomy"),
        heads_case(3, (2, 1), (21, 37), 16, (16, 16), layout="transposed"),
        heads_case(1, (1, 1), (50, 40), 16, (64, 16), CAUSAL),
        heads_case(1, (2, 1), (37, 53), 16, (16, 16), family="one_way"),
        heads_case(1, (2, 1), (37, 85), 16, (16, 16), family="blanks"),
        heads_case(1, (1, 1), order(1103, 3), 16, (16, 16), dtype="float16"),
        heads_case(
            1, (1, 1), order(40_003, 5), 16, order(256, 16), CAUSAL, family="rising"
        ),  # more than 16 bits can count
        # for mistakes that show in few cases only
        heads_case(2, (3, 1), order(37, 277), 16, (16, 16), CAUSAL_RAGGED, dtype="float16", layout="transposed"),
        heads_case(3, (4, 2), order(20, 613), 16, (16, 16), CAUSAL_RAGGED, layout="strided"),
        heads_case(3, (4, 2), (1, 65), 16, (16, 16), CAUSAL_RAGGED, layout="transposed"),
        heads_case(2, (4, 2), (45, 70), 32, (16, 16), RAGGED, dtype="bfloat16", layout="transposed"),
        heads_case(3, (4, 2), order(35, 150), 16, (16, 16), CAUSAL_RAGGED, dtype="bfloat16", layout="transposed"),
        heads_case(
            3, (3, 1), order(613, 20), 16, (16, 16), CAUSAL_RAGGED, dtype="float16", layout="strided", family="rising"
        ),
        heads_case(
            2, (4, 2), order(171, 35), 32, (16, 16), CAUSAL, dtype="bfloat16", layout="strided", family="rising"
        ),
        heads_case(2, (2, 2), (27, 9), 128, (32, 16), CAUSAL_RAGGED, dtype="float16", layout="strided"),
        heads_case(2, (3, 1), (33, 45), 16, (32, 32), FULL, dtype="bfloat16", layout="transposed"),
        heads_case(2, (3, 1), (90, 15), 16, (64, 32), dtype="float16", layout="transposed"),
        heads_case(3, (2, 2), (31, 70), 16, (64, 32), dtype="float16", layout="strided"),
        heads_case(2, (4, 2), (23, 103), 64, (32, 64), RAGGED, dtype="float16", layout="strided", family="large"),
        heads_case(2, (4, 2), (40, 71), 16, (32, 64), CAUSAL_FULL, dtype="bfloat16", layout="strided"),
        heads_case(3, (4, 2), (71, 16), 16, (32, 16), CAUSAL_FULL, layout="transposed"),
        heads_case(1, (2, 1), (150, 130), 16, (64, 64), CAUSAL, family="large"),
        heads_case(1, (2, 2), (5, 35), 128, (32, 64), CAUSAL, dtype="bfloat16", layout="strided"),
        heads_case(1, (2, 1), (40, 31), 128, (32, 64), CAUSAL, family="rising"),
        heads_case(3, (1, 1), (31, 32), 32, (16, 32), CAUSAL_RAGGED, layout="strided", family="rising"),
    )


def gpu_cases(order: Order) -> tuple[Case, ...]:
    """Large cases for a GPU, and larger ones that are only timed."""
    return (
        *_large(order, (200, 431), (4, 2), 4, (1024, 320), GPU),
        *_large(order, (400, 431), (8, 2), 8, (2048, 512), TIMED),
    )


def _large(
    order: Order,
    ragged: tuple[int, int],
    groups: tuple[int, int],
    heads: int,
    walk: tuple[int, int],
    devices: frozenset[str],
) -> tuple[Case, ...]:
    """Four cases: lengths for each batch, heads side by side, groups under a causal mask, and a long walk with strides of its own."""
    cases = (
        heads_case(2, (8, 2), ragged, 64, (64, 32), CAUSAL_RAGGED, family="negative"),
        heads_case(2, (heads, heads), (631, 577), 64, (64, 64), CAUSAL, dtype="float16", layout="transposed"),
        heads_case(1, groups, (1024, 1024), 128, (64, 64), CAUSAL, dtype="bfloat16"),
        heads_case(
            3,
            (heads // 2, 1),
            order(*walk),
            128,
            order(32, 64),
            FULL_SCALED,
            dtype="bfloat16",
            family="positive",
            layout="strided",
        ),
    )
    return tuple(replace(case, devices=devices) for case in cases)


def drawn(order: Order) -> Callable[[Random], tuple[Case, ...]]:
    """Random cases like those. The last one is longer than any known case."""

    def few_tiles(draw: Random, row: Row) -> tuple[int, int]:
        n_q, n_kv = (draw.randint(1, 2 * tile + 9) for tile in row["tile"])
        return n_q, n_kv

    def many_tiles(draw: Random, row: Row) -> tuple[int, int]:
        row |= {"tile": (32, 32), "d": draw.choice((16, 32)), "batches": 1, "heads": (2, 1)}
        return order(draw.randint(1200, 1400), draw.randint(40, 90))

    def long_walk(draw: Random, row: Row) -> tuple[int, int]:
        # so many terms do not fit in float16, nor large ones in float32
        row |= {"tile": order(128, 16), "d": 16, "batches": 1, "heads": (1, 1), "dtype": "float32", "family": "normal"}
        return order(draw.randint(40_004, 44_000), draw.randint(1, 16))

    return attention_cases.drawn(from_row, _FACTORS, _allowed, few_tiles, many_tiles, long_walk)
