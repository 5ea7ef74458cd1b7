"""Queries, keys and values that attention kernels are tried on, and attention itself in float64.

Ordinary normal inputs make every weight nearly 1/N and hide almost every mistake; the other families exist because a wrong
idea survives without them. In float32 all values have the ten mantissa bits that a tensor core's TF32 keeps, so that the
first product is exact and what is judged is the kernel, not the rounding of its inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch

from checker.course.chunk_kinds import IN_SIGHT, PAIRS, TRIPLES, Kind, Plan, extremes, rows_of_kinds
from checker.course.diagrams import ONLINE_ATTENTION
from checker.course.families import REACH, chunk_width, generator
from checker.course.softmax_rows import honest_forms
from checker.puzzle import DTYPES, Case, ExactState, RunningState, Tensors

Visible = Callable[[Case, Tensors, tuple[int, ...]], torch.Tensor]
"""[N_Q, N_KV] of one head, True where a query may attend to a key."""


def _of_products(plan: Plan) -> Plan:
    """Without -inf: no product gives it."""
    return replace(plan, kinds=tuple(kind for kind in plan.kinds if kind != Kind.EMPTY))


CHOSEN = {
    "score_pairs": _of_products(PAIRS),
    "score_pairs_in_sight": _of_products(IN_SIGHT),
    "score_triples": _of_products(TRIPLES),
    "large": _of_products(IN_SIGHT),
}
"""Families in which every query runs through tiles of scores of all kinds, and its neighbours are in another phase."""
LARGE = {"float32": 2.0**100, "float16": 2.0**14, "bfloat16": 2.0**100}
"""Values of the family "large" are up to twice as large. Those of float32 and bfloat16 are none of float16."""
LARGE_KEYS = {"float32": 2.0**30, "float16": 1.0, "bfloat16": 2.0**30}
"""Its keys are larger by this, and its queries smaller."""
DEEPEST = 44
"""The lowest score of "rare_keys", below 0: exp(44) is a number of float32 and of bfloat16, exp(-44) is one as well."""
OF_BASE_TWO = {"float32": 1143 / 1024, "float16": 131 / 128, "bfloat16": 131 / 128}
"""Numbers of few bits that are of few bits times log2(e) as well, within 4e-5 of 189/128 and 3e-7 of 1649/1024: so queries of "rare_keys"
come through, if they are multiplied by log2(e) and rounded before the loop. A low score would make an error of a weight of it."""
LEVELS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "creeping_scores": lambda j: 5e-5 * j,
    "near_overflow": lambda j: torch.stack([88.0 - j % 3 / 4, -60.0 - j % 5 / 4]),
    "overflowing_scores": lambda j: 1.25 * (j % 23),
    "far_below_zero": lambda j: 0.0 * j - 20_480.0,
    "climbing_scores": lambda j: 6.0 * (j // 16),
    "nearly_level": lambda j: (7 * j) % 23 / 1024,
}
"""Families whose scores hang on the number j of the key alone: [N_KV], or [rows, N_KV] for queries in turn.

A creeping score rises by less than a thousandth from tile to tile, and what is left out of each rescale adds up. The exponential of
one score near overflow is a number of float32, and the sum of three is none. The other queries' scores are far below zero.
"""
VAST = 1e20
"""How far from zero the scores of "vast_scores" go: beyond most numbers that stand for -inf, but not -1e30."""


def scale_of(case: Case) -> float:
    """What the scores are multiplied by: 1 / sqrt(D) unless ``case.flags["SCALE"]`` says otherwise."""
    return float(case.flags.get("SCALE", 0.0)) or case.sizes["D"] ** -0.5


def counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def queries_keys_values(
    case: Case, q_shape: tuple[int, ...], kv_shape: tuple[int, ...]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q of `q_shape`, k and v of `kv_shape` (the last two dimensions are sequence and D), in the case's dtype.

    Raises ValueError for a D that no tensor core takes.
    """
    if q_shape[-1] not in (16, 32, 64, 128):
        raise ValueError(f"D is 16, 32, 64 or 128, not {q_shape[-1]}")
    g = generator(case)
    q = torch.randn(q_shape, generator=g, dtype=torch.float64)
    k = torch.randn(kv_shape, generator=g, dtype=torch.float64)
    v = torch.randn(kv_shape, generator=g, dtype=torch.float64)
    d, n = q_shape[-1], kv_shape[-2]
    plan = _plan(case)
    if case.family == "rare_keys":
        q, k = _chosen(case, None, q_shape, kv_shape)
        q = q * OF_BASE_TWO[case.dtype]
        k = ten_bits(k / OF_BASE_TWO[case.dtype]).to(DTYPES[case.dtype]).double()
        scores = scale_of(case) * q.max() * k[..., :1]  # the same for every query
        v = ten_bits(told_apart(kv_shape, g) * (-scores).exp())
        return tuple(x.to(DTYPES[case.dtype]) for x in (q, k, v))  # type: ignore[return-value]
    if plan is not None or case.family in ("spike", "constant", *LEVELS):
        q, k = _chosen(case, plan, q_shape, kv_shape)
        v = told_apart(kv_shape, g) * (LARGE[case.dtype] if case.family == "large" else 1.0)
        return tuple(x.to(DTYPES[case.dtype]) for x in (q, k, v))  # type: ignore[return-value]
    match case.family:
        case "normal":  # scores spread by 1, whatever they are multiplied by
            q, v = q * (d**-0.5 / scale_of(case)), told_apart(kv_shape, g)
        case "ramp":  # keys grow along the sequence, so that maxima keep coming: a missing rescale shows
            q = 3 * q
            k = k * torch.linspace(0.1, 6.0, n, dtype=torch.float64)[:, None]
        case "rising":  # as ramp, less steep: over many rows, scores rounded with the queries have to pass as well
            q = 2 * q
            k = k * torch.linspace(0.1, 2.0, n, dtype=torch.float64)[:, None]
        case "one_way":  # no value above 0: to a largest value, what is masked is larger
            q, v = q * (d**-0.5 / scale_of(case)), -told_apart(kv_shape, g).abs()
        case "blanks":  # of four tiles one has no values, one values that add up to 0, one keys of zeros
            q, tile = q * (d**-0.5 / scale_of(case)), torch.arange(n) // case.meta["BLOCK_N"] % 4
            sign = 1.0 - 2.0 * (torch.arange(d, dtype=torch.float64) % 2)
            v = told_apart(kv_shape, g)
            v[..., tile == 0, :], v[..., tile == 1, :] = 0.0, sign
            k[..., tile == 2, :] = 0.0
        case "huge":  # as ramp, and values that float16 cannot hold: whoever computes in it is seen
            q = 3 * q
            k = k * torch.linspace(0.1, 6.0, n, dtype=torch.float64)[:, None]
        case (
            "negative" | "positive"
        ):  # every score near -150 or +120: a maximum that starts at 0, or none at all, shows
            target = -150.0 if case.family == "negative" else 120.0
            along = (abs(target) * d**-0.5) ** 0.5  # (along * ones) · (along * ones) / sqrt(D) = |target|
            q = 0.25 * q + along
            k = 0.25 * k + along * (1 if target > 0 else -1)
        case "sink":  # the first key scores near +150, all others near 0: a maximum that may fall again overflows
            along = (150.0 * d**-0.5) ** 0.5
            q, k = 0.25 * q + along, 0.25 * k
            k[..., 0, :] += along
        case (
            "abyss"
        ):  # below any stand-in for -inf; not for cases: a kernel that folds l into the exponent fails it too
            q, k = torch.full_like(q, 2.0**15), torch.full_like(k, -(2.0**15))
        case other:
            raise ValueError(f"no family of attention inputs is called {other!r}")
    if case.dtype == "float32":
        q, k, v = (x.to(torch.float16).double() for x in (q, k, v))
    # powers of two: the mantissas stay as they are
    if case.family == "huge":
        v = v * 2.0**20
    if case.family == "abyss":
        q, k = q * 2.0**36, k * 2.0**36
    return tuple(x.to(DTYPES[case.dtype]) for x in (q, k, v))  # type: ignore[return-value]


def _plan(case: Case) -> Plan | None:
    """How the family's scores are built, None where they are not."""
    match case.family:
        case "extreme_scores":
            return _of_products(extremes(REACH[case.dtype]))
        case "vast_scores":
            return _of_products(extremes(VAST))
        case family:
            return CHOSEN.get(family)


def _chosen(
    case: Case, plan: Plan | None, q_shape: tuple[int, ...], kv_shape: tuple[int, ...]
) -> tuple[torch.Tensor, torch.Tensor]:
    """q and k float64 whose scores are the rows of a plan, or of the families "spike" and "constant"; other rows for every head of k.

    Heads of q that share one of k have the same rows, in another order.
    """
    (n_q, d), (n, _) = q_shape[-2:], kv_shape[-2:]
    heads, heads_q = math.prod(kv_shape[:-2]), math.prod(q_shape[:-2])
    rows, dtype, group = min(n_q, d), DTYPES[case.dtype], heads_q // heads
    if plan is not None:
        seed = generator(case).initial_seed()
        scores = rows_of_kinds(heads * rows, n, chunk_width(case, n), plan, dtype, seed)
    elif case.family == "rare_keys":
        scores = -_depths(case, n, chunk_width(case, n)).expand(heads * rows, n)
    elif case.family in LEVELS:
        levels = torch.atleast_2d(LEVELS[case.family](torch.arange(n, dtype=torch.float64)))
        scores = levels[torch.arange(rows) % len(levels)].repeat(heads, 1)
    else:  # all alike: zeros, or after the first key 16 more add less than half a step to a sum kept in the case's dtype
        after = math.log(0.45 * torch.finfo(dtype).eps / 16) if case.family == "spike" else 0.0
        scores = torch.full((heads * rows, n), after, dtype=torch.float64)
        scores[:, 0] = 0.0
    parts = [chosen_scores(s, n_q, d, scale_of(case), dtype) for s in scores.reshape(heads, rows, n)]
    q = torch.stack([q.roll(head, dims=0) for q, _ in parts for head in range(group)]).reshape(q_shape)
    k = torch.stack([k for _, k in parts]).reshape(kv_shape)
    apart = LARGE_KEYS[case.dtype] if case.family == "large" else 1.0
    return q / apart, k * apart


def _depths(case: Case, n: int, chunk: int) -> torch.Tensor:
    """[n] float64: how far below the largest score each key lies. Its value is larger by exp of that, so that all keys count alike.

    A kernel that takes a small weight for 0, or for another small weight, loses what the key has to say. The keys of the first chunk lie
    lowest, and so their sum is made a little number when the largest score comes. Those of the third lie as low, after it: a kernel
    that passes over a chunk far below the running maximum loses all of them.
    """
    depths = torch.randint(1, DEEPEST, (n,), generator=generator(case)).double()
    deep = DEEPEST - depths / 4
    depths[chunk::chunk] = 0.0
    depths[:chunk], depths[2 * chunk : 3 * chunk] = deep[:chunk], deep[2 * chunk : 3 * chunk]
    return depths


def told_apart(shape: tuple[int, ...], g: torch.Generator) -> torch.Tensor:
    """Values between 1 and 2 in magnitude, exact in TF32, so that a wrong weight shows in every column.

    Of even columns all values are positive: there a sum that stops growing shows as well. In odd ones they have either sign.
    """
    v = 1 + torch.randint(0, 1024, shape, generator=g) / 1024
    v[..., 1::2] *= 2 * torch.randint(0, 2, v[..., 1::2].shape, generator=g) - 1
    return v.double()


def chosen_scores(
    scores: torch.Tensor, n_q: int, d: int, scale: float, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """q [n_q, d] and k [n_kv, d] float64, exact in `dtype` and in TF32, with scale·q·kᵀ = `scores`, their rows in turn.

    Query i is a multiple of a unit vector, so that row i % rows of `scores` [rows, n_kv] is a column of k. Equal scores stay equal.
    Where the scores have at most the mantissa of `dtype` (10 bits of a float32's) and `scale` is a power of two, they come out
    exactly; otherwise they are rounded to it, by at most eps/2 (2⁻¹¹ for float32) of each. Raises ValueError for more rows than d,
    and for scores that are not finite: no product is, and a mask makes -inf.
    """
    rows = scores.shape[0]
    if rows > d:
        raise ValueError(f"{rows} rows of scores need {rows} features, and there are {d}")
    if not bool(scores.isfinite().all()):
        raise ValueError("a product of finite numbers gives no score that is not finite")
    largest = float(scores.abs().amax()) / scale
    long = 2.0 ** round(math.log2(max(largest, 1.0)) / 2)  # q and k share the magnitude; a power of two rounds nothing
    at = torch.arange(rows) * (d // rows)  # over all of d, so that a part of it does not do
    q, k = torch.zeros(n_q, d, dtype=torch.float64), torch.zeros(scores.shape[1], d, dtype=torch.float64)
    q[torch.arange(n_q), at[torch.arange(n_q) % rows]] = long
    k[:, at] = ten_bits(scores.T.double() / (scale * long)).to(dtype).double()
    return q, k


def ten_bits(x: torch.Tensor) -> torch.Tensor:
    """`x` rounded to the ten bits of mantissa that a tensor core's TF32 keeps of a float32, of any exponent."""
    mantissa, exponent = torch.frexp(x)
    return torch.ldexp(torch.round(mantissa * 2.0**11), exponent - 11)


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, seen: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """softmax(scale * q kᵀ) v and the log-sum-exp of its rows; a query that sees no key gives 0 and -inf.

    Vaswani et al. 2017, equation 1; the log-sum-exp as in Dao 2023 (FlashAttention-2), section 3.1.
    `seen` is broadcastable to [..., N_Q, N_KV], True where a query may attend to a key.
    """
    if q.dim() > 2:  # one head after another: all their scores at once would not fit into a laptop's memory
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
    """Maximum and sum of every query, over the visible keys that it was paired with, in the variables called `names`.

    `head_kv` gives the slice of k for one of q; `in_memory` is that of `RunningState`.
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
    if seen is None or seen.dim() < dims:
        return seen
    return seen[i if seen.shape[0] > 1 else 0]
