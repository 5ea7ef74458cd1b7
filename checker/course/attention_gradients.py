"""The gradients of attention with heads: inputs, the gradients in float64, how much error is allowed, and cases.

With P = exp(scale · Q Kᵀ − lse), where a query sees a key, and dP = dO Vᵀ:

    dV = Pᵀ dO,   dS = P ∘ (dP − Δ),   dQ = scale · dS K,   dK = scale · dSᵀ Q

(Dao 2023, FlashAttention-2, algorithm 2). The log-sum-exp and Δ = rowsum(dO ∘ O) of every query are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import torch

from checker.authoring import Space, family, table
from checker.course import attention_values as values
from checker.course.attention import SCORES, TALL_CASES, attention, extended
from checker.course.attention import TOLERANCE as OUTPUT_TOLERANCE
from checker.course.attention_heads import (
    ANY_STRIDES,
    FLAGS,
    HEADS_DOMAIN,
    HEADS_FACTORS,
    ONE_HEAD,
    SMALL_LENGTHS,
    heads,
    heads_space,
    input_laid_out,
    key_lengths,
    laid_out,
    seen,
    sizes,
    with_padding,
)
from checker.course.attention_values import LARGE, Tokens, distinct_values, queries_keys_values, scale_of
from checker.course.tensors import generator, once_a_case
from checker.puzzle import DTYPES, NORMAL, Case, Tensors

TOLERANCE = {dtype: replace(of, c=1.5 * of.c) for dtype, of in OUTPUT_TOLERANCE.items()}
"""Two roundings of every term: the gradient may lose half a step of its own size, and three of the terms it sums (`lost`).

Correct arithmetic loses at most half of that: half a step for a product's operand, a whole one where the tensor core truncates a
float32, and half a step for the gradient itself.
"""


@family("many small contributions beside a large one", "many small contributions")
def many_small(x: Tokens, case: Case) -> Tokens:
    """The first query and the first key add so much to every gradient that a sum in 16 bits loses the rest."""
    q, k, v, _ = many_small_and_gradient(case)
    return Tokens(q, k, v, x.generator)


def many_small_and_gradient(case: Case) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, k, v and do. Each tile of queries after the first adds a quarter of a step to dK and dV, each tile of keys to dQ.

    Queries have only even features and keys only odd ones, so every score is 0. The rows of dO have one direction, and the first
    is the longest. The values have one direction too, except that the first is reversed: its dS is as large as all others together.
    In a large group of heads, each but the middle one adds a quarter of a step.
    """
    b, h_q, h_kv, n_q, n_kv, d = sizes(case)
    g = other_generator(case)
    step = torch.finfo(DTYPES[case.dtype]).eps / 4
    q, k = distinct_values((b, h_q, n_q, d), g).abs(), distinct_values((b, h_kv, n_kv, d), g).abs()
    q[..., 1::2], k[..., ::2] = 0.0, 0.0
    k[..., 1:, :] *= step * max(n_kv - 1, 1) / case.meta["BLOCK_N"]
    k[..., 0, :] *= -1
    v = distinct_values((b, h_kv, 1, d), g).repeat(1, 1, n_kv, 1)
    v[..., 0, :] *= -1
    do = 64 * distinct_values((b, h_q, 1, d), g).repeat(1, 1, n_q, 1)
    do[..., 1:, :] *= step / case.meta["BLOCK_M"]
    if (group := h_q // h_kv) >= 16:
        do[:, torch.arange(h_q) % group != group // 2] *= step
    return q, k, v, do


def output_gradient(case: Case) -> torch.Tensor:
    """do [B, H_Q, N_Q, D] in the case's dtype."""
    b, h_q, _, n_q, _, d = sizes(case)
    do = distinct_values((b, h_q, n_q, d), other_generator(case))
    if case.family == many_small:
        *_, do = many_small_and_gradient(case)
    elif case.family == values.large:  # so that dO Vᵀ stays within the range of the dtype
        do = do * ((4 if case.dtype == "float16" else 1) / LARGE[case.dtype])
    elif case.dtype == "float16" and case.flags.get("SCALE", 1.0) < 2**-11:
        do = 512 * do  # sums that float16 cannot hold before they are scaled
    elif case.family == values.one_way:
        do = -do.abs()
    elif case.family == values.blanks:  # of three tiles of queries, two add up to 0 in every row, and the third is 0
        do[..., 1::2] = -do[..., ::2]
        do[..., torch.arange(n_q) // case.meta["BLOCK_M"] % 3 == 2, :] = 0.0
    return do.to(DTYPES[case.dtype])


def other_generator(case: Case) -> torch.Generator:
    """Its numbers are independent of those in q, k and v."""
    return torch.Generator().manual_seed(generator(case).initial_seed() + 1)


def inputs(case: Case) -> Tensors:
    """q, k, v and do in the case's dtype and layout, log-sum-exp and Δ [B, H_Q, N_Q] in float32, and the key lengths [B].

    A query that sees no key has a log-sum-exp of -inf and a Δ of 0.
    """
    b, h_q, h_kv, n_q, n_kv, d = sizes(case)
    q, k, v = queries_keys_values(case, (b, h_q, n_q, d), (b, h_kv, n_kv, d), room=9)
    lengths = key_lengths(case)
    k, v = with_padding(k, v, case, lengths)
    given = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "do_ptr": output_gradient(case)}
    given = {name: input_laid_out(x, case, name) for name, x in given.items()}
    q, k, v, do = (x.double() for x in given.values())
    k, v = (x.repeat_interleave(h_q // h_kv, dim=1) for x in (k, v))
    o, lse = attention(q, k, v, scale_of(case), seen(case, lengths))
    return {
        **given,
        "lse_ptr": lse.float(),
        "delta_ptr": (do * o).sum(dim=-1).float(),
        "key_lengths_ptr": lengths,
    }


def make(case: Case, outputs: tuple[str, ...]) -> Tensors:
    """The inputs, and zeros for gradients in the case's dtype and layout, each as large as what it is the gradient of."""
    given = inputs(case)
    lengths = given.pop("key_lengths_ptr")
    like = {name: given["q_ptr" if name == "dq_ptr" else "k_ptr"] for name in outputs}
    zeros = {name: laid_out(torch.zeros_like(x), case, name) for name, x in like.items()}
    return {**given, **zeros, "key_lengths_ptr": lengths}


class Gradients(NamedTuple):
    """[B, H_Q, N_Q, D] and twice [B, H_KV, N_KV, D], float64."""

    dq: torch.Tensor
    dk: torch.Tensor
    dv: torch.Tensor


class Head(NamedTuple):
    """One query head with its key head, all matrices in float64."""

    at: tuple[int, int, int]  # batch, query head, key head
    q: torch.Tensor  # [N_Q, D]
    k: torch.Tensor  # [N_KV, D]
    v: torch.Tensor  # [N_KV, D]
    do: torch.Tensor  # [N_Q, D]
    lse: torch.Tensor  # [N_Q, 1]
    delta: torch.Tensor  # [N_Q, 1]
    seen: torch.Tensor  # [N_Q, N_KV]


def heads_of(case: Case, tensors: Tensors) -> Iterator[Head]:
    b, h_q, h_kv, *_ = sizes(case)
    visible = seen(case, tensors["key_lengths_ptr"])
    for i in range(b):
        for h in range(h_q):
            g = h // (h_q // h_kv)
            q, do, lse, delta = (tensors[f"{name}_ptr"][i, h].double() for name in ("q", "do", "lse", "delta"))
            k, v = (tensors[f"{name}_ptr"][i, g].double() for name in "kv")
            yield Head((i, h, g), q, k, v, do, lse[:, None], delta[:, None], visible[i, 0])


def gradients(case: Case, tensors: Tensors) -> Gradients:
    """dQ, dK and dV in float64 from the given log-sum-exp and Δ. dK and dV are summed over the query heads that share a key head."""
    dq, dk, dv = (torch.zeros(tensors[name].shape, dtype=torch.float64) for name in ("q_ptr", "k_ptr", "v_ptr"))
    scale = scale_of(case)
    for head in heads_of(case, tensors):
        i, h, g = head.at
        p, away = weights(head, scale)
        ds = p * away
        dq[i, h] = scale * (ds @ head.k)
        dk[i, g] += scale * (ds.T @ head.q)
        dv[i, g] += p.T @ head.do
    return Gradients(dq, dk, dv)


def weights(head: Head, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """P and dP − Δ [N_Q, N_KV]; both 0 where the key is not seen."""
    p = torch.exp(((head.q @ head.k.T) * scale - head.lse).masked_fill(~head.seen, -torch.inf))
    return p, (head.do @ head.v.T - head.delta).masked_fill(~head.seen, 0.0)


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """What an error is measured against: `lost`, whatever is expected."""
    return lost(case, "q_ptr" if output == "dq_ptr" else "k_ptr")[int(output == "dv_ptr")]


@once_a_case
def lost(case: Case, of: str) -> torch.Tensor:
    """The scale of an error in each element of dQ, [1, ...], or of dK and dV, [2, ...]: the sum of its terms' magnitudes.

    A term loses at most half a step of its dtype when its factor P or dS is rounded for the product (TF32 for float32). In the same
    unit this adds what float32 loses: in a score, an error that P's exponent inherits; in dP − Δ, where large numbers may cancel;
    and in numbers too small for the dtype.
    """
    given, scale, dtype = inputs(case), scale_of(case), DTYPES[case.dtype]
    half, single = {torch.bfloat16: 2.0**-8}.get(dtype, 2.0**-11), 2.0**-22
    least = 2.0**-25 if dtype == torch.float16 else 2.0**-126
    total = torch.zeros((1 if of == "q_ptr" else 2, *given[of].shape), dtype=torch.float64)
    for head in heads_of(case, given):
        i, h, g = head.at
        p, away = weights(head, scale)
        size = (head.q.abs() @ head.k.abs().T) * scale + head.lse.abs()
        rounded = half + single * (1 + size.masked_fill(~head.seen, 0.0))
        p_lost = p * rounded + least * head.seen
        ds_lost = p * (away.abs() * rounded + single * (head.do.abs() @ head.v.abs().T))
        ds_lost = ds_lost + least / min(scale, 1.0) * head.seen  # scaled before it is rounded or after
        if of == "q_ptr":
            total[0, i, h] = scale * (ds_lost @ head.k.abs())
        else:
            total[0, i, g] += scale * (ds_lost.T @ head.q.abs())
            total[1, i, g] += p_lost.T @ head.do.abs()
    total = total / half
    return torch.where(total > 0, total.clamp(min=torch.finfo(dtype).tiny), 0.0)


gradient = partial(
    heads,
    domain=replace(
        HEADS_DOMAIN,
        values=f"{SCORES} lse and delta come from the forward pass: a query that sees no key has lse = -inf.",
        memory=ANY_STRIDES.replace("q, k and v", "q, k, v and do"),
        accuracy="a gradient may be off by a few roundings of its operands and a float32 rounding of each score, relative to the sum of its terms' "
        "magnitudes. In float16, a term below 6e-5 may lose bits.",
        masked=("lse",),
        expanded=("q", "k", "v", "do"),
    ),
    tolerance=TOLERANCE,
    scale=scale,
)
"""A puzzle that computes some of the gradients."""

# ---------------------------------------------------------------------------------------------------------------- cases

gradient_table = partial(table, families=(*values.FAMILIES, many_small), flags=FLAGS)


def gradient_space(n_q: tuple[int, int], n_kv: tuple[int, int], longest_tile: tuple[int, int]) -> Space:
    """Small cases that cover all values of the factors in pairs, and drawn cases, of which the last two have these lengths."""
    many_tiles = {"batches": 1, "heads": (2, 1), "n_q": n_q[0], "n_kv": n_kv[0], "tile": (32, 32), "d": 32}
    longest = {
        "batches": 1,
        "heads": (1, 1),
        "n_q": n_q[1],
        "n_kv": n_kv[1],
        "tile": longest_tile,
        "d": 16,
        # so many terms do not fit in float16, nor large ones in float32
        "dtype": "float32",
        "family": NORMAL,
        "layout": "transposed",
    }
    return heads_space(
        {
            **HEADS_FACTORS,
            "heads": ((4, 2), (2, 2), (6, 2), (8, 1)),
            "family": (values.large, NORMAL, values.negative, values.positive, values.blanks),
        },
        allowed=lambda row: row["batches"] * row["heads"][0] <= 10,  # more heads take long
        largest=(many_tiles, longest),
    )


def turned(cases: Iterable[Case]) -> tuple[Case, ...]:
    """The same cases with the numbers of queries and of keys exchanged."""

    def turn(case: Case) -> Case:
        exchanged = {"N_Q": case.sizes["N_KV"], "N_KV": case.sizes["N_Q"]}
        meta = {"BLOCK_M": case.meta["BLOCK_N"], "BLOCK_N": case.meta["BLOCK_M"]}
        return replace(case, sizes={**case.sizes, **exchanged}, meta=meta)

    return tuple(turn(case) for case in cases)


TALL = extended(TALL_CASES, ONE_HEAD, {**FLAGS, "IS_CAUSAL": True})
GRADIENT_CASES = (
    SMALL_LENGTHS
    + TALL
    + gradient_table("""
        B  H_Q  H_KV  N_Q   N_KV  D    BLOCK_M  BLOCK_N  values     dtype     layout      flags               on     why
        1  3    3     5     23    16   16       16
        2  2    1     21    83    16   16       16       rare_keys  -         strided     IS_CAUSAL RAGGED=1
        2  1    1     48    96   16   32       64       -          -         -           RAGGED=1            -      N_KV is a multiple of the other tile
        1  1    1     96    48   16   64       32       -          -         -           -                   -      and so is N_Q
        1  82   2     3     5     16   16       16       -          float16   strided     -                   -      more heads than a fixed limit would allow
        2  4    2     21    37    16   16       16       -          -         roomy
        1  1    1     50    40    16   64       16       -          -         -           IS_CAUSAL
        3  2    1     21    37    16   16       16       -          -         transposed  -                   -      one key head of several batches, side by side: kills one_key_head
        1  2    1     37    53    16   16       16       one_way
        3  4    2     1     65    16   16       16       -          -         transposed  IS_CAUSAL RAGGED=1
        2  4    2     21    37   16   16       16       -          -         repeated keys
        2  4    2     21    37   16   16       16       -          -         repeated values
        2  8    2     200   431   64   64       32       negative   -         -           IS_CAUSAL RAGGED=1  gpu
        2  4    4     631   577   64   64       64       -          float16   transposed  IS_CAUSAL           gpu
        1  4    2     1024  1024  128  64       64       -          bfloat16  -           IS_CAUSAL           gpu
        2  8    2     400   431   64   64       32       negative   -         -           IS_CAUSAL RAGGED=1  timed
        2  8    8     631   577   64   64       64       -          float16   transposed  IS_CAUSAL           timed
        1  8    2     1024  1024  128  64       64       -          bfloat16  -           IS_CAUSAL           timed
""")
)
"""Cases that matter in their own right to both kernels."""
LONG_LOOPS = gradient_table("""
        B  H_Q  H_KV  N_Q     N_KV  D    BLOCK_M  BLOCK_N  values    dtype     layout      flags               on     why
        1  1    1     20      270   16   16       16       negative  -         -           IS_CAUSAL
        1  1    1     1103    3     16   16       16       -         float16
        1  1    1     40_003  5     16   256      16       rising    -         -           IS_CAUSAL           -      more queries than 16 bits can count
        3  2    1     1024    320   128  32       64       positive  bfloat16  strided     RAGGED=2 SCALE=0.3  gpu
        3  4    1     2048    512   128  32       64       positive  bfloat16  strided     RAGGED=2 SCALE=0.3  timed
""")
"""Cases for the loop of dK and dV over queries; turned, they are cases for the loop of dQ over keys."""
