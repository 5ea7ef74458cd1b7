"""Queries, keys and values for the attention kernels, and attention itself in float64.

With normal inputs every weight is nearly 1/N, which hides almost every mistake. Each other family exposes a mistake that the rest
do not. In float32 all values have at most the ten mantissa bits of TF32, so the first product is exact and the verdict is about
the kernel, not about the rounding of its inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch

from checker.course.chunk_kinds import IN_SIGHT, PAIRS, TRIPLES, Kind, Plan, extremes, rows_of_kinds
from checker.course.diagrams import ONLINE_ATTENTION
from checker.course.families import REACH
from checker.course.softmax_rows import honest_forms
from checker.course.tensors import chunk_width, generator
from checker.films.diagram import ExactState, RunningState
from checker.puzzle import DTYPES, Case, Tensors

Visible = Callable[[Case, Tensors, tuple[int, ...]], torch.Tensor]
"""From a case, its tensors and the index of a head: [N_Q, N_KV], True where a query may attend to a key."""


def _of_products(plan: Plan) -> Plan:
    """`plan` without chunks of -inf, which no product gives."""
    return replace(plan, kinds=tuple(kind for kind in plan.kinds if kind != Kind.EMPTY))


CHOSEN = {
    "score_pairs": _of_products(PAIRS),
    "score_pairs_in_sight": _of_products(IN_SIGHT),
    "score_triples": _of_products(TRIPLES),
    "large": _of_products(IN_SIGHT),
}
"""Families in which the scores of each query go through tiles of all kinds, in another order than its neighbours'."""
LARGE = {"float32": 2.0**100, "float16": 2.0**14, "bfloat16": 2.0**100}
"""The least magnitude of values in the family "large"; the largest is twice that. float16 cannot hold those of the other dtypes."""
LARGE_KEYS = {"float32": 2.0**30, "float16": 1.0, "bfloat16": 2.0**30}
"""The factor by which keys of "large" are multiplied and its queries divided."""
DEEPEST = 44
"""The largest distance of a score of "rare_keys" below 0. float32 and bfloat16 can hold both exp(44) and exp(-44)."""
OF_BASE_TWO = {"float32": 1143 / 1024, "float16": 131 / 128, "bfloat16": 131 / 128}
"""Factors for the queries of "rare_keys" that have few bits, also after a product with log2(e): within 4e-5 of 189/128 and 3e-7 of
1649/1024. So a kernel may multiply queries by log2(e) and round them before the loop without changing low scores much."""
RISES = torch.tensor([83.5, 2.0, 7.0, 10.75, 11.5, 14.0, 20.0, 40.0, 60.0, 75.0], dtype=torch.float64)
"""How far a maximum rises. Where nothing is rescaled, exp(10.75) still fits in float16 and exp(11.5) does not; exp(83.5) fits in float32,
and the sum of 300 such terms does not."""
LEVELS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "creeping_scores": lambda j: 5e-5 * j,
    "near_overflow": lambda j: torch.stack([88.0 - j % 3 / 4, -60.0 - j % 5 / 4]),
    "overflowing_scores": lambda j: 1.25 * (j % 23),
    "far_below_zero": lambda j: 0.0 * j - 20_480.0,
    "climbing_scores": lambda j: 6.0 * (j // 16),
    "one_rise": lambda j: torch.where(j < 16, 0.0, RISES[:, None]),
    "nearly_level": lambda j: (7 * j) % 23 / 1024,
    "vanishing_tile": lambda j: torch.where(j < 16, -150.0, (7 * j) % 23 / 8),
}
"""Families whose scores depend only on the index j of the key: [N_KV], or [rows, N_KV] for queries in turn.

"creeping_scores" rise by less than a thousandth from tile to tile, so the error of skipped rescales adds up. In "near_overflow" the
exponential of one score fits in float32 and the sum of three does not; every other query's scores are far below zero. In "one_rise"
the first 16 scores of a query are 0, and all others are higher by one of `RISES`. In "vanishing_tile" the
weights of the first 16 keys are 0 in float32, for every query.
"""
VAST = 1e20
"""The largest magnitude in "vast_scores": beyond most numbers that kernels use for -inf, but not beyond -1e30."""


def scale_of(case: Case) -> float:
    """The factor of the scores: ``case.flags["SCALE"]``, by default 1 / sqrt(D)."""
    return float(case.flags.get("SCALE", 0.0)) or case.sizes["D"] ** -0.5


def queries_keys_values(
    case: Case, q_shape: tuple[int, ...], kv_shape: tuple[int, ...]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q of `q_shape`, k and v of `kv_shape`, [..., sequence, D], in the case's dtype.

    Raises ValueError for an unknown family and for a D that tensor cores do not take.
    """
    if q_shape[-1] not in (16, 32, 64, 128):
        raise ValueError(f"D is 16, 32, 64 or 128, not {q_shape[-1]}")
    g = generator(case)
    q = torch.randn(q_shape, generator=g, dtype=torch.float64)
    k = torch.randn(kv_shape, generator=g, dtype=torch.float64)
    v = torch.randn(kv_shape, generator=g, dtype=torch.float64)
    d, n = q_shape[-1], kv_shape[-2]
    plan = _plan(case)
    if case.family.name == "rare_keys":
        q, k = _chosen(case, None, q_shape, kv_shape)
        q = q * OF_BASE_TWO[case.dtype]
        k = ten_bits(k / OF_BASE_TWO[case.dtype]).to(DTYPES[case.dtype]).double()
        scores = scale_of(case) * q.max() * k[..., :1]  # the same for every query
        v = ten_bits(distinct_values(kv_shape, g) * (-scores).exp())
        return tuple(x.to(DTYPES[case.dtype]) for x in (q, k, v))  # type: ignore[return-value]
    if plan is not None or case.family.name in ("spike", "constant", *LEVELS):
        q, k = _chosen(case, plan, q_shape, kv_shape)
        v = distinct_values(kv_shape, g) * (LARGE[case.dtype] if case.family.name == "large" else 1.0)
        return tuple(x.to(DTYPES[case.dtype]) for x in (q, k, v))  # type: ignore[return-value]
    match case.family.name:
        case "normal":  # scores with a standard deviation of 1, whatever the scale
            q, v = q * (d**-0.5 / scale_of(case)), distinct_values(kv_shape, g)
        case "ramp":  # keys grow along the sequence, so the maximum keeps rising: exposes a missing rescale
            q = 3 * q
            k = k * torch.linspace(0.1, 6.0, n, dtype=torch.float64)[:, None]
        case "rising":  # as ramp, but less steep, so that scores rounded with the queries pass in many rows
            q = 2 * q
            k = k * torch.linspace(0.1, 2.0, n, dtype=torch.float64)[:, None]
        case "one_way":  # no value above 0, so that a masked 0 would be the largest
            q, v = q * (d**-0.5 / scale_of(case)), -distinct_values(kv_shape, g).abs()
        case "blanks":  # of four tiles, one has values of 0, one values that add up to 0, one keys of 0
            q, tile = q * (d**-0.5 / scale_of(case)), torch.arange(n) // case.meta["BLOCK_N"] % 4
            sign = 1.0 - 2.0 * (torch.arange(d, dtype=torch.float64) % 2)
            v = distinct_values(kv_shape, g)
            v[..., tile == 0, :], v[..., tile == 1, :] = 0.0, sign
            k[..., tile == 2, :] = 0.0
        case "huge":  # as ramp, with values that float16 cannot hold: exposes computing in float16
            q = 3 * q
            k = k * torch.linspace(0.1, 6.0, n, dtype=torch.float64)[:, None]
        case "opposite_values":  # of 2ⁿ keys, every output is exactly 0, and so is Δ, but the scores have a gradient
            q, v = torch.zeros_like(q), distinct_values(kv_shape, g)
            v[..., 1::2, :] = -v[..., : n // 2 * 2 : 2, :]
            v[..., n // 2 * 2 :, :] = 0.0
        case "negative" | "positive":  # scores near -150 or +120: exposes a maximum that starts at 0 or is missing
            target = -150.0 if case.family.name == "negative" else 120.0
            along = (abs(target) * d**-0.5) ** 0.5  # (along * ones) · (along * ones) / sqrt(D) = |target|
            q = 0.25 * q + along
            k = 0.25 * k + along * (1 if target > 0 else -1)
        case "sunken":  # normal scores, all of them 12,000 lower: exposes -1e4 in place of -inf
            q = q * (d**-0.5 / scale_of(case))
            q[..., 0], k[..., 0] = -12_000 / scale_of(case), 1.0
        case "sink":  # the first key's score is near +150, all others near 0: a maximum that falls again overflows
            along = (150.0 * d**-0.5) ** 0.5
            q, k = 0.25 * q + along, 0.25 * k
            k[..., 0, :] += along
        case "abyss":  # below any number used for -inf; for mutants only: right kernels that fold l into exp fail, too
            q, k = torch.full_like(q, 2.0**15), torch.full_like(k, -(2.0**15))
        case other:
            raise ValueError(f"no family of attention inputs is called {other!r}")
    if case.dtype == "float32":
        q, k, v = (x.to(torch.float16).double() for x in (q, k, v))
    # powers of two keep the mantissas
    if case.family.name == "huge":
        v = v * 2.0**20
    if case.family.name == "abyss":
        q, k = q * 2.0**36, k * 2.0**36
    return tuple(x.to(DTYPES[case.dtype]) for x in (q, k, v))  # type: ignore[return-value]


def _plan(case: Case) -> Plan | None:
    """The plan of a family whose scores are built from kinds of tiles, None for the others."""
    match case.family.name:
        case "extreme_scores":
            return _of_products(extremes(REACH[case.dtype]))
        case "vast_scores":
            return _of_products(extremes(VAST))
        case family:
            return CHOSEN.get(family)


def _chosen(
    case: Case, plan: Plan | None, q_shape: tuple[int, ...], kv_shape: tuple[int, ...]
) -> tuple[torch.Tensor, torch.Tensor]:
    """q and k in float64 for families whose scores are given, with other scores for every head of k.

    Query heads that share a key head have the same rows of scores in another order.
    """
    (n_q, d), (n, _) = q_shape[-2:], kv_shape[-2:]
    heads, heads_q = math.prod(kv_shape[:-2]), math.prod(q_shape[:-2])
    rows, dtype, group = min(n_q, d), DTYPES[case.dtype], heads_q // heads
    if plan is not None:
        seed = generator(case).initial_seed()
        scores = rows_of_kinds(heads * rows, n, chunk_width(case, n), plan, dtype, seed)
    elif case.family.name == "rare_keys":
        scores = -_depths(case, n, chunk_width(case, n)).expand(heads * rows, n)
    elif case.family.name in LEVELS:
        levels = torch.atleast_2d(LEVELS[case.family.name](torch.arange(n, dtype=torch.float64)))
        scores = levels[torch.arange(rows) % len(levels)].repeat(heads, 1)
    else:  # zeros, or for "spike": after the first key, 16 more add less than half a step to a sum in the case's dtype
        after = math.log(0.45 * torch.finfo(dtype).eps / 16) if case.family.name == "spike" else 0.0
        scores = torch.full((heads * rows, n), after, dtype=torch.float64)
        scores[:, 0] = 0.0
    parts = [chosen_scores(s, n_q, d, scale_of(case), dtype) for s in scores.reshape(heads, rows, n)]
    q = torch.stack([q.roll(head, dims=0) for q, _ in parts for head in range(group)]).reshape(q_shape)
    k = torch.stack([k for _, k in parts]).reshape(kv_shape)
    apart = LARGE_KEYS[case.dtype] if case.family.name == "large" else 1.0
    return q / apart, k * apart


def _depths(case: Case, n: int, chunk: int) -> torch.Tensor:
    """[n] float64: the distance of each key's score below the largest. The key's value is larger by exp of it, so all keys matter equally.

    A kernel that replaces a small weight by 0 or by another small weight therefore gets a wrong output. The first chunk has the lowest
    scores, so its sum shrinks a lot when the largest score comes. The third has scores as low after it, so a kernel that skips chunks
    far below the running maximum loses them.
    """
    depths = torch.randint(1, DEEPEST, (n,), generator=generator(case)).double()
    deep = DEEPEST - depths / 4
    depths[chunk::chunk] = 0.0
    depths[:chunk], depths[2 * chunk : 3 * chunk] = deep[:chunk], deep[2 * chunk : 3 * chunk]
    return depths


def distinct_values(shape: tuple[int, ...], g: torch.Generator) -> torch.Tensor:
    """Values of magnitude 1 to 2, exact in TF32, float64: a wrong weight shows in every column.

    Even columns are positive, which also exposes a sum that stops growing. Odd columns have both signs.
    """
    v = 1 + torch.randint(0, 1024, shape, generator=g) / 1024
    v[..., 1::2] *= 2 * torch.randint(0, 2, v[..., 1::2].shape, generator=g) - 1
    return v.double()


def chosen_scores(
    scores: torch.Tensor, n_q: int, d: int, scale: float, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """q [n_q, d] and k [n_kv, d] float64, exact in `dtype` and TF32, such that row i of scale·q·kᵀ is row i % rows of `scores`.

    Query i is a multiple of a unit vector, so its scores [n_kv] are a column of k. Equal scores stay equal. Scores that fit in the
    mantissa of `dtype` (10 bits for float32) are exact if `scale` is a power of two. Otherwise each is rounded by at most eps/2
    (2⁻¹¹ for float32). Raises ValueError for more rows than d, and for scores that are not finite.
    """
    rows = scores.shape[0]
    if rows > d:
        raise ValueError(f"{rows} rows of scores need {rows} features, and there are {d}")
    if not bool(scores.isfinite().all()):
        raise ValueError("a product of finite numbers gives no score that is not finite")
    largest = float(scores.abs().amax()) / scale
    length = 2.0 ** round(math.log2(max(largest, 1.0)) / 2)  # q and k share the magnitude; a power of two is exact
    at = torch.arange(rows) * (d // rows)  # spread over all of d, so that every part of it is needed
    q, k = torch.zeros(n_q, d, dtype=torch.float64), torch.zeros(scores.shape[1], d, dtype=torch.float64)
    q[torch.arange(n_q), at[torch.arange(n_q) % rows]] = length
    k[:, at] = ten_bits(scores.T.double() / (scale * length)).to(dtype).double()
    return q, k


def ten_bits(x: torch.Tensor) -> torch.Tensor:
    """`x` rounded to ten bits of mantissa, as TF32 does with a float32, without a limit on the exponent."""
    mantissa, exponent = torch.frexp(x)
    return torch.ldexp(torch.round(mantissa * 2.0**11), exponent - 11)


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, seen: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """softmax(scale * q kᵀ) v and the log-sum-exp of its rows; a query that sees no key gives 0 and -inf.

    Vaswani et al. 2017, equation 1; the log-sum-exp as in Dao 2023 (FlashAttention-2), section 3.1.
    `seen` is broadcastable to [..., N_Q, N_KV], True where a query may attend to a key.
    """
    if q.dim() > 2:  # one head after another: the scores of all heads would not fit in a laptop's memory
        parts = [attention(q[i], k[i], v[i], scale, _of(seen, i, q.dim())) for i in range(q.shape[0])]
        return torch.stack([o for o, _ in parts]), torch.stack([lse for _, lse in parts])
    s = (q @ k.transpose(-1, -2)) * scale
    if seen is not None:
        s = s.masked_fill(~seen, -torch.inf)
    return torch.softmax(s, dim=-1).nan_to_num(0.0) @ v, torch.logsumexp(s, dim=-1)


def running(
    visible: Visible | None = None,
    head_kv: Callable[[Case, tuple[int, ...]], tuple[int, ...]] | None = None,
    names: tuple[str, str] = ("m_i", "l_i"),
    in_memory: bool = False,
) -> RunningState:
    """Maximum and sum of every query over the visible keys seen so far, in the variables called `names`.

    `head_kv` gives the index of the key head for a query head. `in_memory` is that of `RunningState`.
    """

    def exact(case: Case, tensors: Tensors, seen: torch.Tensor, at: tuple[int, ...]) -> tuple[ExactState, ...]:
        q, k = tensors["q_ptr"][at], tensors["k_ptr"][head_kv(case, at) if head_kv else at]
        rows = (seen > 0).any(dim=-1)
        chosen = seen > 0 if visible is None else (seen > 0) & visible(case, tensors, at)
        s = (q[rows] @ k.T) * scale_of(case)
        s = s.masked_fill(~chosen[rows], -torch.inf)
        highest = s.amax(dim=-1)
        m, l = (torch.full((q.shape[0],), torch.nan, dtype=torch.float64) for _ in "ml")
        m[rows] = highest.masked_fill(highest == -torch.inf, torch.nan)
        l[rows] = torch.exp(s - m[rows, None]).sum(dim=-1)
        return (honest_forms(names, m, l),)

    update = None if in_memory else ONLINE_ATTENTION
    return RunningState("k_ptr", "q_ptr", names, exact, tolerance=5e-3, in_memory=in_memory, update=update)


def _of(seen: torch.Tensor | None, i: int, dims: int) -> torch.Tensor | None:
    """The part of `seen` for index i of the first of `dims` dimensions, which may be broadcast."""
    if seen is None or seen.dim() < dims:
        return seen
    return seen[i if seen.shape[0] > 1 else 0]
