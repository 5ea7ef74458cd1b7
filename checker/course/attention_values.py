"""The values that attention kernels are tried on: families of queries, keys and values.

With normal inputs every weight is nearly 1/N, which hides almost every mistake. Each other family exposes a mistake that the rest
do not. In float32 all values have at most the ten mantissa bits of TF32, so the first product is exact and the verdict is about
the kernel, however a GPU rounds its inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch

from checker.authoring import family
from checker.course.chunk_kinds import IN_SIGHT, PAIRS, TRIPLES, Kind, Plan, extremes, rows_of_kinds
from checker.course.families import REACH
from checker.course.tensors import chunk_width, generator, once_a_case
from checker.puzzle import DTYPES, NORMAL, Case, Family

WIDTHS = (16, 128, 64, 32)
"""The D that tensor cores take."""


@dataclass
class Tokens:
    """q [..., N_Q, D], k [..., N_KV, D] and v [..., N_KV, D_V] in float64, and the generator that drew them."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    generator: torch.Generator


def scale_of(case: Case) -> float:
    """The factor of the scores: ``case.flags["SCALE"]``, by default 1 / sqrt(D)."""
    return float(case.flags.get("SCALE", 0.0)) or case.sizes["D"] ** -0.5


def queries_keys_values(
    case: Case, q_shape: tuple[int, ...], kv_shape: tuple[int, ...], room: int = 0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q of `q_shape`, k and v of `kv_shape`, [..., sequence, D], in the case's dtype. `room` is that of `at_the_ends`.

    Raises ValueError for a D that tensor cores do not take.
    """
    if q_shape[-1] not in WIDTHS:
        raise ValueError(f"D is 16, 32, 64 or 128, not {q_shape[-1]}")
    g = generator(case)
    q, k, v = (torch.randn(shape, generator=g, dtype=torch.float64) for shape in (q_shape, kv_shape, kv_shape))
    x = Tokens(q, k, v, g)
    x = ordinary(x, case) if case.family == NORMAL else case.family.make(x, case)
    x = at_the_ends(x, case, room)
    return x.q.to(DTYPES[case.dtype]), x.k.to(DTYPES[case.dtype]), x.v.to(DTYPES[case.dtype])


def distinct_values(shape: tuple[int, ...], g: torch.Generator) -> torch.Tensor:
    """Values of magnitude 1 to 2, exact in TF32, float64: a wrong weight shows in every column.

    Even columns are positive, which also exposes a sum that stops growing. Odd columns have both signs.
    """
    v = 1 + torch.randint(0, 1024, shape, generator=g) / 1024
    v[..., 1::2] *= 2 * torch.randint(0, 2, v[..., 1::2].shape, generator=g) - 1
    return v.double()


def ten_bits(x: torch.Tensor) -> torch.Tensor:
    """`x` rounded to ten bits of mantissa, as TF32 does with a float32, without a limit on the exponent."""
    mantissa, exponent = torch.frexp(x)
    return torch.ldexp(torch.round(mantissa * 2.0**11), exponent - 11)


def short(x: Tokens, case: Case) -> Tokens:
    """In float32, x rounded to float16, so that a product in TF32 is exact."""
    if case.dtype == "float32":
        x.q, x.k, x.v = (t.to(torch.float16).double() for t in (x.q, x.k, x.v))
    return x


NEXT_TO_ONE = 31 / 32
"""The mantissa of the largest query beside tiny keys, between a half and 1: float16 cannot hold its product with log2(e)."""
ENDS = {"float32": 80, "float16": 16, "bfloat16": 80}
"""Exponents of the largest queries or keys beside tiny ones: no element reaches 2 to this power."""


def at_the_ends(x: Tokens, case: Case, room: int) -> Tokens:
    """With the flag TINY_Q, queries divided by a power of two so large, and keys multiplied by it, that a product stays the same.

    With TINY_K the other way round. The scores stay the same, too, but for rounding. `room` is how many bits below the largest exponent
    the huge ones stay, so that sums of them fit in their type; without it, the largest query is close to the end of the type.
    """
    if not (case.flags.get("TINY_Q") or case.flags.get("TINY_K")):
        return x
    # tensors, not Python numbers: a launch without numbers has none. The factor keeps a key from rounding up to a power of two
    largest = x.k.abs().amax() * (1 + 2.0**-11) if case.flags.get("TINY_Q") else x.q.abs().amax()
    mantissa, exponent = torch.frexp(largest)
    power = torch.ldexp(torch.ones((), dtype=torch.float64), ENDS[case.dtype] - room - exponent)
    if case.flags.get("TINY_Q"):
        x.q, x.k = x.q / power, x.k * power
    else:
        times = power if room else power * NEXT_TO_ONE / mantissa
        x.q, x.k = ten_bits(x.q * times), ten_bits(x.k / times)
    return x


# ------------------------------------------------------------------------------------------------------ random scores


def unit_scores(x: Tokens, case: Case) -> Tokens:
    """Scores with a standard deviation of 1, whatever the scale, and distinct values."""
    x.q = x.q * (case.sizes["D"] ** -0.5 / scale_of(case))
    x.v = distinct_values(x.v.shape, x.generator)
    return x


def ordinary(x: Tokens, case: Case) -> Tokens:
    """The family NORMAL."""
    return short(unit_scores(x, case), case)


def _with_growing_keys(x: Tokens, times: float, last: float) -> Tokens:
    x.q = times * x.q
    x.k = x.k * torch.linspace(0.1, last, x.k.shape[-2], dtype=torch.float64)[:, None]
    return x


@family("keys that grow along the sequence", "growing keys")
def ramp(x: Tokens, case: Case) -> Tokens:
    """The maximum keeps rising: exposes a missing rescale."""
    return short(_with_growing_keys(x, 3, 6.0), case)


@family("keys that slowly grow along the sequence", "slowly growing keys")
def rising(x: Tokens, case: Case) -> Tokens:
    """Less steep than `ramp`, so that scores rounded with the queries pass in many rows."""
    return short(_with_growing_keys(x, 2, 2.0), case)


@family("values that are all below zero", "values below zero")
def one_way(x: Tokens, case: Case) -> Tokens:
    """A masked 0 would be the largest value."""
    x = unit_scores(x, case)
    x.v = -x.v.abs()
    return short(x, case)


@family("tiles of zeros, and tiles whose numbers add up to 0", "blank tiles", chunks=4)
def blanks(x: Tokens, case: Case) -> Tokens:
    """Of four tiles of keys, one has keys that add up to 0, one values of 0, one values that add up to 0, and one keys of 0.

    Of three tiles of queries, the second is 0, and the third adds up to 0.
    """
    x = unit_scores(x, case)
    queries, keys = (
        torch.arange(t.shape[-2]) // case.meta[f"BLOCK_{side}"] % period
        for t, side, period in ((x.q, "M", 3), (x.k, "N", 4))
    )
    sign = 1.0 - 2.0 * (torch.arange(x.v.shape[-1], dtype=torch.float64) % 2)
    x.v[..., keys == 1, :], x.v[..., keys == 2, :], x.k[..., keys == 3, :], x.q[..., queries == 1, :] = (
        0.0,
        sign,
        0.0,
        0.0,
    )
    x.k[..., keys == 0, 1::2] = -x.k[..., keys == 0, ::2]
    x.q[..., queries == 2, 1::2] = -x.q[..., queries == 2, ::2]
    return short(x, case)


@family("values that cancel in every output", "values that cancel")
def opposite_values(x: Tokens, case: Case) -> Tokens:
    """With 2ⁿ keys, every output is exactly 0, and so is Δ, but the scores have a gradient."""
    n = x.k.shape[-2] // 2 * 2
    x.q, x.v = torch.zeros_like(x.q), distinct_values(x.v.shape, x.generator)
    x.v[..., 1::2, :] = -x.v[..., :n:2, :]
    x.v[..., n:, :] = 0.0
    return short(x, case)


def _near(x: Tokens, case: Case, score: float) -> Tokens:
    """Scores near `score`: the scale times (along · ones) · (along · ones) is its magnitude."""
    along = (abs(score) / (case.sizes["D"] * scale_of(case))) ** 0.5
    x.q, x.k = 0.25 * x.q + along, 0.25 * x.k + math.copysign(along, score)
    return short(x, case)


@family("scores that are all near -150", "scores near -150")
def negative(x: Tokens, case: Case) -> Tokens:
    """Exposes a maximum that starts at 0."""
    return _near(x, case, -150.0)


@family("scores that are all near 120, whose exponentials overflow", "scores near 120")
def positive(x: Tokens, case: Case) -> Tokens:
    """Exposes a maximum that is not subtracted."""
    return _near(x, case, 120.0)


@family("scores near -12,000", "scores near -12,000")
def sunken(x: Tokens, case: Case) -> Tokens:
    """Unit scores, all of them 12,000 lower: exposes -1e4 in place of -inf."""
    x.q = x.q * (case.sizes["D"] ** -0.5 / scale_of(case))
    x.q[..., 0], x.k[..., 0] = -12_000 / scale_of(case), 1.0
    return short(x, case)


@family("a first key whose score dwarfs all others", "a dominant first key")
def sink(x: Tokens, case: Case) -> Tokens:
    """The first score is near 150, all others near 0: exponentials overflow beside a maximum that falls again."""
    along = (150.0 * case.sizes["D"] ** -0.5) ** 0.5
    x.q, x.k = 0.25 * x.q + along, 0.25 * x.k
    x.k[..., 0, :] += along
    return short(x, case)


# ------------------------------------------------------------------------------------------------------- given scores

LARGE = {"float32": 2.0**100, "float16": 2.0**14, "bfloat16": 2.0**100}
"""The smallest magnitude of values in the family "large"; the largest is twice that. float16 cannot hold those of the other dtypes."""
DEEPEST = 80
"""The largest distance of a score of "rare_keys" below 0. float32 and bfloat16 can hold both exp(80) and exp(-80)."""
OF_BASE_TWO = {"float32": 1143 / 1024, "float16": 131 / 128, "bfloat16": 131 / 128}
"""Factors for the queries of "rare_keys" that have few bits, also after a product with log2(e): within 4e-5 of 189/128 and 3e-7 of
1649/1024. So a kernel may multiply queries by log2(e) and round them before the loop without changing low scores much."""
RISES = torch.tensor([83.5, 2.0, 7.0, 10.75, 11.5, 14.0, 20.0, 40.0, 60.0, 75.0], dtype=torch.float64)
"""How far a maximum rises. Where nothing is rescaled, exp(10.75) still fits in float16 and exp(11.5) does not; exp(83.5) fits in float32,
and the sum of 300 such terms does not."""
VAST = 1e20
"""The largest magnitude in "vast_scores": beyond most numbers that kernels use for -inf, but not beyond -1e30."""
Levels = Callable[[torch.Tensor], torch.Tensor]
"""From the index j of each key, [N_KV], to its scores, [N_KV] or [rows, N_KV] for queries in turn."""


def given_scores(
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


def _rows(x: Tokens) -> int:
    """How many queries of a head can have scores of their own."""
    return min(x.q.shape[-2:])


def _heads(x: Tokens) -> int:
    return math.prod(x.k.shape[:-2])


def _with_scores(x: Tokens, case: Case, scores: torch.Tensor) -> Tokens:
    """x with these `scores` [heads · rows, N_KV], other ones for every head of k, and distinct values.

    Query heads that share a key head have the same rows of scores in another order.
    """
    (n_q, d), n, heads = x.q.shape[-2:], x.k.shape[-2], _heads(x)
    group = math.prod(x.q.shape[:-2]) // heads
    pairs = [given_scores(s, n_q, d, scale_of(case), DTYPES[case.dtype]) for s in scores.reshape(heads, -1, n)]
    x.q = torch.stack([q.roll(head, dims=0) for q, _ in pairs for head in range(group)]).reshape(x.q.shape)
    x.k = torch.stack([k for _, k in pairs]).reshape(x.k.shape)
    x.v = distinct_values(x.v.shape, x.generator)
    return x


_remembered_rows = once_a_case(rows_of_kinds)
"""A case is made twice: for its launch, and for the scale of its errors."""


def _of_kinds(x: Tokens, case: Case, plan: Callable[[str], Plan]) -> Tokens:
    """Scores whose tiles are of the kinds that a plan lists, except -inf, which no product gives."""
    kinds = plan(case.dtype)
    kinds = replace(kinds, kinds=tuple(kind for kind in kinds.kinds if kind != Kind.EMPTY))
    n, seed = x.k.shape[-2], x.generator.initial_seed()
    scores = _remembered_rows(_heads(x) * _rows(x), n, chunk_width(case, n), kinds, DTYPES[case.dtype], seed)
    return _with_scores(x, case, scores)


def _in_order(name: str, words: str, label: str, plan: Plan, chunks: int = 3) -> Family:
    return Family(name, words, label, partial(_of_kinds, plan=lambda dtype: plan), chunks)


ORDERS = "level with the maximum so far, above or below it"
score_pairs = _in_order(
    "score_pairs",
    f"scores whose tiles are zeros, {ORDERS}, one after another in all orders",
    "scores of all pairs of kinds",
    PAIRS,
    chunks=9,
)
score_pairs_in_sight = _in_order(
    "score_pairs_in_sight",
    f"scores whose tiles are {ORDERS}, one after another in all orders",
    "scores of all pairs of kinds but far above",
    IN_SIGHT,
    chunks=7,
)
score_triples = _in_order(
    "score_triples",
    f"scores whose tiles are {ORDERS}, in all orders of three",
    "scores of all triples of kinds",
    TRIPLES,
)
extreme_scores = Family(
    "extreme_scores",
    "scores of great magnitude, above zero and below it",
    "largest and smallest scores",
    partial(_of_kinds, plan=lambda dtype: extremes(REACH[dtype])),
)
vast_scores = _in_order("vast_scores", "scores near 1e20 and -1e20", "scores near ±1e20", extremes(VAST))


@family("large numbers", "large numbers")
def large(x: Tokens, case: Case) -> Tokens:
    x = score_pairs_in_sight.make(x, case)
    x.v = x.v * LARGE[case.dtype]
    return x


def _at_levels(name: str, words: str, label: str, levels: Levels) -> Family:
    """A family whose scores depend only on the index of the key."""

    def make(x: Tokens, case: Case) -> Tokens:
        by_row = torch.atleast_2d(levels(torch.arange(x.k.shape[-2], dtype=torch.float64)))
        return _with_scores(x, case, by_row[torch.arange(_rows(x)) % len(by_row)].repeat(_heads(x), 1))

    return Family(name, words, label, make)


# the error of skipped rescales adds up
creeping_scores = _at_levels(
    "creeping_scores",
    "scores that rise by less than a thousandth from tile to tile",
    "creeping scores",
    lambda j: 5e-5 * j,
)
# the exponential of one score fits in float32 and the sum of three does not; every other query's scores are far below zero
near_overflow = _at_levels(
    "near_overflow",
    "scores whose exponentials are at the edge of what float32 can hold",
    "scores near overflow",
    lambda j: torch.stack([88.0 - j % 3 / 4, -60.0 - j % 5 / 4]),
)
overflowing_scores = _at_levels(
    "overflowing_scores",
    "products of queries and keys that float16 cannot hold",
    "products that overflow float16",
    lambda j: 1.25 * (j % 23),
)
far_below_zero = _at_levels(
    "far_below_zero", "scores that are all far below zero", "scores far below zero", lambda j: 0.0 * j - 20_480.0
)
# lower than any number that a kernel may use for -inf, but -1e30; one key takes all, so that a log-sum-exp is a score
lowest_scores = _at_levels(
    "lowest_scores",
    "scores that are all near -1e29",
    "scores near -1e29",
    lambda j: -(2.0**96) * torch.where(j == 0, 1.0, 1.25 + j % 3 / 4),
)
climbing_scores = _at_levels(
    "climbing_scores", "scores that rise by 6 from tile to tile", "climbing scores", lambda j: 6.0 * (j // 16)
)
# 7.2 powers of two in 25 tiles
calm_scores = _at_levels(
    "calm_scores", "scores that rise by 0.2 from tile to tile", "slowly climbing scores", lambda j: 0.2 * (j // 16)
)
one_rise = _at_levels(
    "one_rise",
    "scores that rise once, after the first tile",
    "scores that rise once",
    lambda j: torch.where(j < 16, 0.0, RISES[:, None]),
)


@family("scores that rise once, by as much for all queries of a head", "scores that rise together")
def common_rise(x: Tokens, case: Case) -> Tokens:
    """Heads take turns, so that no query of a tile rises more than the others."""
    rises = RISES[torch.arange(_heads(x)) % len(RISES)].repeat_interleave(_rows(x))
    later = torch.arange(x.k.shape[-2]) >= 16
    return _with_scores(x, case, torch.where(later, rises[:, None], 0.0))


nearly_level = _at_levels(
    "nearly_level", "scores that are nearly the same", "nearly level scores", lambda j: (7 * j) % 23 / 1024
)
# the weights of the first 16 keys are 0 in float32, for every query
vanishing_tile = _at_levels(
    "vanishing_tile",
    "a first tile of keys whose weights are all 0 beside the others",
    "a first tile without weight",
    lambda j: torch.where(j < 16, -150.0, (7 * j) % 23 / 8),
)
constant = _at_levels("constant", "scores that are all equal", "equal scores", lambda j: 0.0 * j)


@family("scores closer together than 16 bits can show in a weight", "scores within a step")
def within_a_step(x: Tokens, case: Case) -> Tokens:
    """Two of three weights are just below 1, and 1 in 16 bits. Scores are tiny beside the log-sum-exp, which must be as exact as a sum."""
    step = torch.finfo(torch.bfloat16 if case.dtype == "bfloat16" else torch.float16).eps / 2
    scores = torch.where(torch.arange(x.k.shape[-2]) % 3 == 1, 0.0, -0.45 * step).double()
    return _with_scores(x, case, scores.expand(_heads(x) * _rows(x), -1))


@family("scores of one large weight and many tiny ones", "a spike among the scores")
def spike(x: Tokens, case: Case) -> Tokens:
    """After the first key, 16 more add less than half a step to a sum in the case's dtype."""
    tiny = math.log(0.45 * torch.finfo(DTYPES[case.dtype]).eps / 16)
    scores = torch.full((_heads(x) * _rows(x), x.k.shape[-2]), tiny, dtype=torch.float64)
    scores[:, 0] = 0.0
    return _with_scores(x, case, scores)


@family("small weights with large values", "rare keys")
def rare_keys(x: Tokens, case: Case) -> Tokens:
    """Each key's value is larger by exp of its score's distance below the largest, so all keys matter equally.

    A kernel that replaces a small weight by 0 or by another small weight therefore gets a wrong output. The first chunk has the lowest
    scores, so its sum shrinks a lot when the largest score comes. The third has scores as low after it, so a kernel that skips chunks
    far below the running maximum loses them.
    """
    n = x.k.shape[-2]
    chunk = chunk_width(case, n)
    depths = torch.randint(1, DEEPEST, (n,), generator=generator(case)).double()
    deep = DEEPEST - depths / 4
    depths[chunk::chunk] = 0.0
    depths[:chunk], depths[2 * chunk : 3 * chunk] = deep[:chunk], deep[2 * chunk : 3 * chunk]
    x = _with_scores(x, case, -depths.expand(_heads(x) * _rows(x), n))
    x.q = x.q * OF_BASE_TWO[case.dtype]
    x.k = ten_bits(x.k / OF_BASE_TWO[case.dtype]).to(DTYPES[case.dtype]).double()
    scores = scale_of(case) * x.q.max() * x.k[..., :1]  # the same for every query
    x.v = ten_bits(x.v * (-scores).exp())
    return x


@family("scores that rise from tile to tile by less than a factor of 16 bits can show", "slowly rising scores")
def rising_slowly(x: Tokens, case: Case) -> Tokens:
    """The values change from 0 to 1 halfway, so a factor that is rounded to 1 leaves too much to the first half."""
    first, step = (2.0**-3, 2.0**-10) if case.dtype == "bfloat16" else (2.0**-2, 2.0**-12)
    tiles = torch.arange(x.k.shape[-2]) // case.meta["BLOCK_N"]
    x.q = torch.zeros_like(x.q)
    x.q[..., 0], x.k[..., 0] = 1 / scale_of(case), first + step * tiles.double()
    x.v = torch.where(2 * tiles < tiles.max(), 0.0, 1.0)[:, None].double().expand(x.v.shape)
    return x


IN_ORDER = (score_pairs, score_pairs_in_sight)
"""These need more tiles of keys than of queries."""
FAMILIES = tuple(value for value in globals().values() if isinstance(value, Family) and value is not NORMAL)
"""All families of queries, keys and values."""
