"""What the attention puzzles share: the reference, tolerances, running state, and the space of their cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch

from checker.authoring import Row, Space, cdiv, puzzle, table
from checker.authoring.build import NOTHING
from checker.authoring.space import length
from checker.course import attention_values as values
from checker.course.attention_values import IN_ORDER, WIDTHS, scale_of
from checker.course.diagrams import ONLINE_ATTENTION
from checker.course.softmax_rows import honest_forms
from checker.course.tensors import row_magnitude, stored
from checker.films.diagram import ExactState, RunningState
from checker.puzzle import DTYPES, NORMAL, Case, Domain, Scalar, Tensors, Tolerance

TOLERANCE = {
    "float32": Tolerance(rtol=2**-11, c=2**13),
    "float16": Tolerance(rtol=2**-11, c=1.0),
    "bfloat16": Tolerance(rtol=2**-8, c=1.0),
}
"""For outputs: 1.5 steps of the mantissa that the products' operands keep, 10 bits in TF32 and float16, 7 in bfloat16.

Correct arithmetic loses less than half of this (docs/decisions.md). float32 operands rounded to bfloat16 lose more.
"""
STATISTICS = {
    "float32": Tolerance(rtol=2**-17, c=2**13),
    "float16": Tolerance(rtol=2**-17, c=1.0),
    "bfloat16": Tolerance(rtol=2**-17, c=1.0),
}
"""For a maximum, a sum or a log-sum-exp, which are float32 whatever the inputs are. `c` is two roundings of an operand, the unit of
`statistics_scale`."""


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """What an error in O is measured against: the largest element of its row.

    Scores near -150 or +120 double it if queries have 16 bits, because a kernel may scale queries and round them again. Where
    scaled queries fall below float16's normal numbers, scores are off by `lost` roundings.
    """
    far = case.dtype != "float32" and case.family in (values.negative, values.positive)
    return row_magnitude(case, output, expected) * max(2 if far else 1, lost(case))


def lost(case: Case) -> float:
    """How many float16 roundings a score is off by, where queries times the scale are below the smallest normal number.

    Each element of a query is off by up to 2⁻²⁵, and the D elements of a key are near 2¹⁴.
    """
    return math.sqrt(case.sizes["D"]) if case.dtype == "float16" and case.flags.get("TINY_Q") else 0.0


MOST_SCORES = 2**18
"""How many scores of several heads are computed at once. One head after another, those of a long text fit in a laptop's memory."""


def _is_large(q: torch.Tensor, k: torch.Tensor) -> bool:
    return q.dim() > 2 and q[..., 0].numel() * k.shape[-2] > MOST_SCORES


class Moved(NamedTuple):
    """How far the statistics of each query move if all its elements are off by a share e, as multiples of e, [..., N_Q] each."""

    m: torch.Tensor
    lse: torch.Tensor
    log_l: torch.Tensor

    @staticmethod
    def by_rounding(
        q: torch.Tensor, k: torch.Tensor, scale: float, seen: torch.Tensor | None = None, group: int = 1
    ) -> Moved:
        """To first order, all elements off in the worst direction. `group` query heads share a key head; `seen` as in `attention`."""
        if q.dim() > 2 and group > 1:
            return Moved.by_rounding(q, k.repeat_interleave(group, dim=-3), scale, seen)
        if _is_large(q, k):
            of_head = [seen] * len(q) if seen is None else seen.expand(*q.shape[:-1], k.shape[-2])
            heads = [Moved.by_rounding(*head, scale, of_head[i]) for i, head in enumerate(zip(q, k, strict=True))]
            return Moved(*(torch.stack(of_heads) for of_heads in zip(*heads, strict=True)))
        s = (q @ k.mT) * scale
        if seen is not None:
            s = s.masked_fill(~seen, -torch.inf)
        mean = torch.softmax(s, dim=-1).nan_to_num(0.0) @ k
        best = torch.take_along_dim(k, s.argmax(dim=-1)[..., None], dim=-2)
        return Moved(*((q * keys).abs().sum(dim=-1) * scale for keys in (best, mean, best - mean)))


def statistics_scale(case: Case, moved: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
    """What an error in a statistic is measured against: how far it has `moved` if queries are scaled in their own type.

    Float32 itself loses a few last bits of the scores, up to `size`, and of 1. Where all scores are exactly 0, it loses last bits only.
    """
    unit = STATISTICS[case.dtype].c * torch.finfo(DTYPES[case.dtype]).eps
    return (
        moved + lost(case) / 2 + (2.0**-21 * size + (2.0**-21 if case.family == values.constant else 2.0**-17)) / unit
    )


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, seen: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """softmax(scale * q kᵀ) v and the log-sum-exp of its rows; a query that sees no key gives 0 and -inf.

    Vaswani et al. 2017, equation 1; the log-sum-exp as in Dao 2023 (FlashAttention-2), section 3.1.
    `seen` is broadcastable to [..., N_Q, N_KV], True where a query may attend to a key.
    """
    if _is_large(q, k):
        of_head = [seen] * len(q) if seen is None else seen.expand(*q.shape[:-1], k.shape[-2])
        parts = [attention(*head, scale, of_head[i]) for i, head in enumerate(zip(q, k, v, strict=True))]
        return torch.stack([o for o, _ in parts]), torch.stack([lse for _, lse in parts])
    s = (q @ k.transpose(-1, -2)) * scale
    if seen is not None:
        s = s.masked_fill(~seen, -torch.inf)
    return torch.softmax(s, dim=-1).nan_to_num(0.0) @ v, torch.logsumexp(s, dim=-1)


Visible = Callable[[Case, Tensors, tuple[int, ...]], torch.Tensor]
"""From a case, its tensors and the index of a head: [N_Q, N_KV], True where a query may attend to a key."""
KeyHead = Callable[[Case, tuple[int, ...]], tuple[int, ...]]
"""From a case and the index of a query head: the index of the key head it reads."""
Sink = Callable[[Tensors, tuple[int, ...]], torch.Tensor]
"""From the tensors and the index of a query head: the score of a key without a value that all its queries see."""


def running(
    visible: Visible | None = None,
    key_head: KeyHead = lambda case, at: at,
    names: tuple[str, str] = ("m_i", "l_i"),
    in_memory: bool = False,
    sink: Sink | None = None,
) -> RunningState:
    """Maximum and sum of every query over the visible keys seen so far, in the variables called `names`.

    `in_memory` is that of `RunningState`. A kernel may count a `sink` from the start, or at the end.
    """

    def exact(case: Case, tensors: Tensors, seen: torch.Tensor, at: tuple[int, ...]) -> tuple[ExactState, ...]:
        q, k = tensors["q_ptr"][at], tensors["k_ptr"][key_head(case, at)]
        rows = (seen > 0).any(dim=-1)
        attended = seen > 0 if visible is None else (seen > 0) & visible(case, tensors, at)
        s = ((q[rows] @ k.T) * scale_of(case)).masked_fill(~attended[rows], -torch.inf)

        def state(scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            highest = scores.amax(dim=-1)
            m, l = (torch.full((q.shape[0],), torch.nan, dtype=torch.float64) for _ in "ml")
            m[rows] = highest.masked_fill(highest == -torch.inf, torch.nan)
            l[rows] = torch.exp(scores - m[rows, None]).sum(dim=-1)
            return m, l

        m, l = state(s)
        if sink is None:
            return (honest_forms(names, m, l),)
        first = honest_forms(names, *state(torch.cat([s, sink(tensors, at).expand(len(s), 1)], dim=-1)))
        last = honest_forms(names, m, l)
        added = honest_forms(names, m, l + torch.exp(sink(tensors, at) - m))
        after = {n: torch.cat([x.afterwards[n] for x in (added, first, last)]) for n in names}
        return first, replace(last, afterwards=after)

    update = None if in_memory else ONLINE_ATTENTION
    return RunningState("k_ptr", "q_ptr", names, exact, tolerance=5e-3, in_memory=in_memory, update=update)


WIDTH = {"D": WIDTHS}
SCORES = (
    "q, k and v are finite. A score, scale · q · k, is between -1e30 and 1e30. scale is between 2⁻¹² and 1, and a power of two if scores "
    "pass ±1e6, so a compiler may fuse `s * scale - m`. In float32, q, k and v have at most ten bits after the leading one, so "
    "TF32 holds them exactly. In float16, a weight below 6e-5 may lose bits."
)
"""What attention assumes about numbers. A kernel may hide a key with -1e30 as well as with -inf."""
ROUNDED = (
    "o may be off by 1.5 roundings of an operand (float32 rounds to TF32), relative to the largest element of its row, plus the effect of "
    "rounding the scaled queries again and each score once more in float32"
)
DOMAIN = Domain(
    sizes={"N_Q": (), "N_KV": (), **WIDTH},
    tiles={"BLOCK_M": 16, "BLOCK_N": 16},
    values=SCORES,
    memory="a row's elements are adjacent. Rows may be any distance apart, even so far that offsets pass 2³²; those of q, k and v may "
    "repeat, with a stride of 0.",
    accuracy=f"{ROUNDED}.",
    expanded=("q", "k", "v"),
)
flash = partial(
    puzzle,
    domain=DOMAIN,
    scale=scale,
    tolerance=TOLERANCE,
    options=lambda n: {"num_warps": 4, "num_stages": 2},
    numbers={"scale": scale_of},
)
"""A puzzle that computes attention, or gradients of it, in tiles of BLOCK_M queries and BLOCK_N keys."""
FILM_STATE = {"m_i": "running max", "l_i": "running sum", "acc": "accumulator", "s": "scores of this tile"}
KEPT = "a tile of queries is loaded once and kept"

# ---------------------------------------------------------------------------------------------------------------- cases

SCALES = ((0.3, ""), (0.0, ""), (2.0**-12, "TINY_Q"), (1.0, "TINY_K"))
"""Each a scale, where 0 means 1 / sqrt(D), and a flag. The third and the fourth are at the ends of what the domain and the dtype allow."""
REPEATED = {"repeated queries": "q_ptr", "repeated keys": "k_ptr", "repeated values": "v_ptr"}
"""Layouts in which a tensor holds one row that is repeated, with a stride of 0; the others are padded."""
TILES = ((16, 16), (64, 32), (32, 64))
"""(BLOCK_M, BLOCK_N) with equal sides, with more queries, and with more keys."""
SHAPES = {(dtype, d, TILES[(i + j) % 3]) for i, dtype in enumerate(DTYPES) for j, d in enumerate(WIDTHS)}
"""Every pair of dtype, D and tile once. Cases of one shape are compiled once and simulated together."""
REMAINDERS = ("prime", "none", "one", "all but one")
FACTORS: dict[str, Sequence[Any]] = {
    "family": (values.score_pairs_in_sight, values.score_pairs, values.large, NORMAL, values.blanks),
    "more": ("keys", "queries", "neither"),
    "queries": REMAINDERS,
    "keys": REMAINDERS,
    "dtype": tuple(DTYPES),
    "layout": ("padded", "contiguous", "repeated queries"),
    "tile": TILES,
    "d": WIDTHS,
    "scale": SCALES,
}
"""`more`: whether there are more keys or more queries. `queries`, `keys`: how full the last tile is."""
ANY_LENGTH = tuple(i / 64 for i in range(127))
"""For `Space.wider`: shares of a tile that are missing, up to two tiles but one element."""
WIDER = {
    "tile": ((16, 16), (16, 32), (16, 64), (32, 16), (32, 32), (32, 64)),
    "scale": [
        *((scale, "") for scale in (0.0, 0.0, 0.0, 0.05, 0.17, 0.41, 0.66, 0.9)),
        (2.0**-9, "TINY_Q"),
        (0.66, "TINY_K"),
    ],
    "queries": ANY_LENGTH,
    "keys": ANY_LENGTH,
}
MANY_TILES = {"tile": (64, 64), "d": 32, "n_q": 227, "n_kv": 2203}
MANY_KEYS = {"tile": (16, 128), "d": 16, "n_q": 11, "n_kv": 41_234, "dtype": "float32"}
"""For `Space.largest`: cases longer than any fixed one."""


def lengths(row: Row) -> dict[str, int]:
    """N_Q and N_KV of a row of factors."""
    if "n_q" in row:
        return {"N_Q": row["n_q"], "N_KV": row["n_kv"]}
    block_m, block_n = row["tile"]

    def of(tiles: int, block: int, remainder: str | float) -> int:
        return length(tiles * block, block, remainder, off_edges=False)

    if row["more"] == "neither":
        n = of(2, max(block_m, block_n), row["keys"])
        return {"N_Q": n, "N_KV": n}
    if row["more"] == "queries":
        n_kv = of(2, block_n, row["keys"])
        return {"N_Q": of(cdiv(n_kv, block_m) + 1, block_m, row["queries"]), "N_KV": n_kv}
    tiles = max(row["family"].chunks, 3, 2 * block_m // block_n + 1)
    return {"N_Q": of(2, block_m, row["queries"]), "N_KV": of(tiles, block_n, row["keys"])}


def attention_space(
    factors: Mapping[str, Sequence[Any]],
    sizes: Callable[[Row], Mapping[str, int]] = lambda row: {},
    flags: Callable[[Row], Mapping[str, Any]] = lambda row: {},
    allowed: Callable[[Row], bool] = lambda row: True,
    wider: Mapping[str, Sequence[Any]] = WIDER,
    largest: Sequence[Mapping[str, Any]] = (MANY_TILES, MANY_KEYS),
    once: Mapping[str, Sequence[Any]] = NOTHING,
) -> Space:
    """The space of `factors`: `FACTORS`, and the puzzle's own. These give the `sizes` and `flags` besides N_Q, N_KV, D and SCALE."""

    def case(row: Row) -> Case:
        meta = dict(zip(("BLOCK_M", "BLOCK_N"), row["tile"], strict=True))
        scale, tiny = row["scale"]
        scaled = {name: value for name, value in (("SCALE", scale), (tiny, True)) if name and value}
        all_sizes = {**sizes(row), **lengths(row), "D": row["d"]}
        return Case(all_sizes, meta, row["dtype"], row["family"], row["layout"], flags={**scaled, **flags(row)})

    def possible(row: Row) -> bool:
        if not allowed(row) or (row["family"] in IN_ORDER and row["more"] != "keys"):
            return False
        if row["more"] == "neither" and row["queries"] != row["keys"] and isinstance(row["keys"], str):
            return False
        return row["tile"] not in TILES or (row["dtype"], row["d"], row["tile"]) in SHAPES

    return Space(factors, case, possible, wider, largest, once)


def in_rows(x: torch.Tensor, case: Case, name: str, gap: int = 13) -> torch.Tensor:
    """`x` [N, D] in the case's dtype and layout."""
    if case.layout not in REPEATED:
        return stored(x, case, gap)
    rows = x[:1] if name == REPEATED[case.layout] else x
    return stored(rows, replace(case, layout="padded"), gap).expand(x.shape)


attention_table = partial(table, families=values.FAMILIES)
SMALL = (1, 2, 3, 5, 8, 15, 16, 17, 20, 24, 29, 31, 32, 33, 37, 40)
SMALL_CASES = tuple(
    Case(
        {"N_Q": (n_kv - 6 - i) % 16 + (1 if i < 8 else 17), "N_KV": n_kv, "D": 16},
        dict.fromkeys(("BLOCK_M", "BLOCK_N"), 16),
    )
    for i, n_kv in enumerate(SMALL)
)
"""Small numbers of keys and of queries. The diagonal of a causal mask crosses tiles in all 16 ways, because N_KV - N_Q has all 16 remainders.

They have one shape, and take hardly any time together.
"""
TALL_CASES = tuple(
    Case({"N_Q": n_kv + more, "N_KV": n_kv, "D": 16}, {"BLOCK_M": 32, "BLOCK_N": 16})
    for n_kv, more in ((3, 17), (9, 20), (16, 16), (20, 23), (21, 29), (30, 31), (33, 33), (40, 18))
)
"""Under a causal mask, some queries of a tile see nothing, and others a key: the diagonal begins before the first key."""
SCORE_CASES = attention_table("""
        N_Q  N_KV  D    BLOCK_M  BLOCK_N  values              dtype     flags                 why
        16   445   16   16       16       score_triples       -         SCALE=0.3
        2    649   64   16       16       spike               float16   -                     more terms than a sum in 16 bits can hold
        9    75    16   16       16       extreme_scores
        9    75    128  16       16       extreme_scores      bfloat16
        5    413   16   16       16       climbing_scores
        7    85    16   16       16       one_way
        9    41    64   16       16       near_overflow       float16
        10   605   16   16       16       one_rise
        10   349   16   16       16       one_rise            float16
        5    41    16   16       16       overflowing_scores  float16   SCALE=0.000244140625
        3    1103  16   16       16       -                   float16
        48   96    16   32       64       -                   -         -                     N_KV is a multiple of the other tile
        96   48    16   64       32       -                   -         -                     and so is N_Q
        19   263   32   32       64       constant            bfloat16
""")
"""Cases of one head that matter in their own right to every forward pass."""
PLAIN_CASES = (
    *SMALL_CASES,
    *SCORE_CASES,
    *attention_table("""
        N_Q  N_KV  D   BLOCK_M  BLOCK_N  values                dtype     layout  on   why
        270  20    16  16       16       score_pairs_in_sight
        2    2083  64  64       32       spike                 bfloat16  padded  -    more terms than a sum in 16 bits can hold
        5    61    16  16       16       vast_scores           -         -       cpu
        5    61    16  16       16       lowest_scores         -         -       cpu
        7    85    16  16       16       nearly_level          bfloat16
        9    41    16  16       16       near_overflow
        19   41    16  16       16       constant
    """),
)
"""Those that matter as they are to kernels without flags."""


def extended(
    cases: Iterable[Case], sizes: Mapping[str, int] = NOTHING, flags: Mapping[str, Scalar] = NOTHING
) -> tuple[Case, ...]:
    """The same cases with more `sizes`, in front of their own, and with the default `flags`."""
    return tuple(replace(case, sizes={**sizes, **case.sizes}, flags={**flags, **case.flags}) for case in cases)
