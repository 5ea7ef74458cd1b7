"""Attention as models use it, which five puzzles share: batches, heads that share keys, causal masks, lengths, any layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from checker.authoring import Row, Space, cdiv
from checker.course.attention import (
    DOMAIN,
    FACTORS,
    FILM_STATE,
    KEPT,
    MANY_KEYS,
    MANY_TILES,
    ROUNDED,
    SCORE_CASES,
    SMALL_CASES,
    STATISTICS,
    TALL_CASES,
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
from checker.course.tensors import once_a_case
from checker.puzzle import Case, FilmSpec, Part, Scalar, Tensors

_ORDERS = {
    "strided": {
        "q_ptr": ((0, 2, 1, 3), 2, 9),
        "k_ptr": ((0, 1, 3, 2), 1, 5),
        "v_ptr": ((1, 0, 2, 3), 3, 1),
        "o_ptr": ((2, 0, 1, 3), 4, 1),
        "do_ptr": ((1, 2, 0, 3), 3, 5),
        "dq_ptr": ((2, 1, 0, 3), 2, 3),
        "dk_ptr": ((2, 0, 1, 3), 3, 7),
        "dv_ptr": ((1, 0, 3, 2), 2, 1),
    },
    "apart": {
        "q_ptr": ((0, 2, 1, 3), 1, 8),
        "k_ptr": ((1, 0, 2, 3), 1, 16),
        "v_ptr": ((2, 0, 1, 3), 1, 24),
        "o_ptr": ((2, 1, 0, 3), 1, 40),
    },
}
"""For a layout and a tensor: the order of its dimensions in memory, the step of the last one, and the gap after it, in elements.

Odd gaps make strides that are multiples of nothing, so that a false `tl.multiple_of` shows.
"""
MIXED = ("mixed 1", "mixed 2", "mixed 3", "mixed 4")
_STRIDED_IN = {
    "q_ptr": (1, 2),
    "k_ptr": (3, 4),
    "v_ptr": (1, 3),
    "o_ptr": (1, 4),
    "do_ptr": (2, 3),
    "dq_ptr": (2, 4),
    "dk_ptr": (2, 4),
    "dv_ptr": (1, 4),
}
"""The mixed layouts in which a tensor is strided. No two tensors of a puzzle have the same, so each is strided where each other is not."""
_EXPANDED: Mapping[str, Mapping[str, int]] = {
    "mixed 1": {"k_ptr": 1, "v_ptr": 0, "do_ptr": 3, "o_ptr": 1},
    "mixed 2": {"q_ptr": 2, "k_ptr": 0, "v_ptr": 1, "o_ptr": 2},
    "mixed 3": {"q_ptr": 1, "k_ptr": 1, "do_ptr": 1, "o_ptr": 0},
    "mixed 4": {"q_ptr": 0, "v_ptr": 0, "do_ptr": 2},
    "repeated keys": {"k_ptr": 2},
    "repeated values": {"v_ptr": 2},
}
"""For a layout: the inputs that are expanded, and along which dimension. Each is strided and not expanded in one of the mixed layouts."""


def sizes(case: Case) -> tuple[int, int, int, int, int, int]:
    """B, H_Q, H_KV, N_Q, N_KV, D. Raises ValueError where the query heads do not fall into equal groups."""
    b, h_q, h_kv, n_q, n_kv, d = (case.sizes[name] for name in ("B", "H_Q", "H_KV", "N_Q", "N_KV", "D"))
    if h_q % h_kv:
        raise ValueError(f"{h_q} query heads cannot share {h_kv} key heads evenly")
    return b, h_q, h_kv, n_q, n_kv, d


def expanded_along(case: Case, name: str) -> int | None:
    """The dimension along which an input is expanded, if it is."""
    return _EXPANDED.get(case.layout, {}).get(name)


def input_laid_out(x: torch.Tensor, case: Case, name: str) -> torch.Tensor:
    """`laid_out`; an input that is expanded holds what comes first along a dimension, repeated with a stride of 0."""
    axis = expanded_along(case, name)
    return laid_out(x if axis is None else x.narrow(axis, 0, 1), case, name).expand(x.shape)


def laid_out(x: torch.Tensor, case: Case, name: str) -> torch.Tensor:
    """`x` [B, H, N, D] in the case's layout. Raises ValueError for an unknown one.

    - `transposed`: [B, N, H, D] in memory, the layout a projection leaves behind.
    - `roomy`: part of a larger buffer. All tensors have the same row stride, but different strides of heads and batches.
    - `strided`: each tensor has its own order in memory, and gaps, so no stride can be left out or replaced by another tensor's.
      Keys lie as in a cache, D before N.
    - `apart`: the same, but with each row contiguous and all other strides multiples of 16 bytes, as a tensor descriptor needs.
    - `mixed 1` to `mixed 4`: some tensors are strided, the others contiguous. Between them the four layouts have each tensor strided
      beside each other one that is contiguous. Most inputs are also expanded (`input_laid_out`). In `mixed 4` strided ones lie in
      the usual order, with an odd gap after each row.
    - `repeated keys`, `repeated values`: contiguous, but for one key or value of each head that is repeated.
    """
    layout = case.layout
    if layout in MIXED:
        layout = "strided" if 1 + MIXED.index(layout) in _STRIDED_IN[name] else "contiguous"
    match layout:
        case "contiguous" | "repeated keys" | "repeated values":
            return x.contiguous()
        case "transposed":
            b, h, n, d = x.shape
            return x.new_empty(b, n, h, d).transpose(1, 2).copy_(x)  # of one head too, its stride is D
        case "roomy":
            room = 1 + list(_ORDERS["strided"]).index(name)
            wide = x.new_full((x.shape[0], x.shape[1] + room, x.shape[2] + 2 * room, x.shape[3]), torch.nan)
            return wide[:, : x.shape[1], : x.shape[2]].copy_(x)
        case "strided" | "apart":
            order, step, gap = _ORDERS[layout][name]
            if case.layout == "mixed 4":
                order, step = (0, 1, 2, 3), 1
            along = x.permute(order)
            wide = torch.full((*along.shape[:-1], along.shape[-1] * step + gap), torch.nan, dtype=x.dtype)
            wide[..., : along.shape[-1] * step : step] = along
            back = sorted(range(4), key=order.__getitem__)
            return wide[..., : along.shape[-1] * step : step].permute(back)
        case other:
            raise ValueError(f"no layout is called {other!r}")


def key_lengths(case: Case) -> torch.Tensor:
    """[B] int32: the number of keys of each batch, N_KV unless ``case.flags["RAGGED"]``.

    With RAGGED = 1 the batches in turn end inside a tile, have no key, and have all keys. With RAGGED = 2 they have full tiles,
    one key, and none. With RAGGED = 3 they have every length from 0 on.
    """
    n_kv, block = case.sizes["N_KV"], case.meta["BLOCK_N"]
    tiles = -(-n_kv // block)
    inside = min(tiles // 2 * block + block // 2 + 1, max(1, 3 * n_kv // 4))
    full = min(max(tiles // 2, 1) * block, n_kv)
    turns = {0: (n_kv,), 1: (inside, 0, n_kv), 2: (full, 1, 0), 3: range(n_kv + 1)}[int(case.flags.get("RAGGED", 0))]
    return torch.tensor([turns[b % len(turns)] for b in range(case.sizes["B"])], dtype=torch.int32)


def with_padding(
    k: torch.Tensor, v: torch.Tensor, case: Case, lengths: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """k and v with large numbers past each length, so that a kernel that counts padded keys gets a wrong result.

    Not where one is expanded along batches or keys, since its batches or keys are all the same then.
    """
    padding = (torch.arange(k.shape[2]) >= lengths[:, None])[:, None, :, None]  # [B, 1, N_KV, 1]
    padded = torch.where(padding, k.amax(), k), torch.where(padding, -v.abs().amax(), v)
    as_is = (expanded_along(case, name) in (0, 2) for name in ("k_ptr", "v_ptr"))
    k, v = (x if same else y for x, y, same in zip((k, v), padded, as_is, strict=True))
    return k, v


def seen(case: Case, lengths: torch.Tensor) -> torch.Tensor:
    """[B, 1, N_Q, N_KV], True where a query sees a key: below the batch's length and, if causal, not past the query.

    Under a causal mask the last query sees the last key of its batch, as in FlashAttention.
    """
    _, _, _, n_q, n_kv, _ = sizes(case)
    keys = torch.arange(n_kv)
    lengths = lengths[:, None, None, None]  # [B, 1, 1, 1]
    below = (keys < lengths).expand(-1, 1, n_q, n_kv)
    return below & (keys - torch.arange(n_q)[:, None] <= lengths - n_q) if case.flags["IS_CAUSAL"] else below


# ----------------------------------------------------------------------------------------------------- the forward pass


def make(case: Case) -> Tensors:
    """q, o [B, H_Q, N_Q, D], k, v [B, H_KV, N_KV, D] in the case's dtype and layout, lse [B, H_Q, N_Q] and the key lengths [B]."""
    b, h_q, h_kv, n_q, n_kv, d = sizes(case)
    q, k, v = queries_keys_values(case, (b, h_q, n_q, d), (b, h_kv, n_kv, d))
    lengths = key_lengths(case)
    k, v = with_padding(k, v, case, lengths)
    given = {"q_ptr": q, "k_ptr": k, "v_ptr": v}
    return {
        **{name: input_laid_out(x, case, name) for name, x in given.items()},
        "o_ptr": laid_out(torch.zeros_like(q), case, "o_ptr"),
        "lse_ptr": torch.zeros(b, h_q, n_q, dtype=torch.float32),
        "key_lengths_ptr": lengths,
    }


def visible(case: Case, tensors: Tensors) -> torch.Tensor:
    """`seen` with the lengths among the tensors; without any, every batch has all keys."""
    return seen(case, tensors.get("key_lengths_ptr", key_lengths(case)))


def visible_to_head(case: Case, tensors: Tensors, at: tuple[int, ...]) -> torch.Tensor:
    """[N_Q, N_KV] of the query head ``at`` = (batch, head)."""
    return visible(case, tensors)[at[0], 0]


def key_head(case: Case, at: tuple[int, ...]) -> tuple[int, ...]:
    """(batch, key head) that the query head ``at`` = (batch, head) reads."""
    return (at[0], at[1] // (case.sizes["H_Q"] // case.sizes["H_KV"]))


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Output and log-sum-exp in float64."""
    _, h_q, h_kv, _, _, _ = sizes(case)
    k, v = (inputs[name].repeat_interleave(h_q // h_kv, dim=1) for name in ("k_ptr", "v_ptr"))
    o, lse = attention(inputs["q_ptr"], k, v, scale_of(case), visible(case, inputs))
    return {"o_ptr": o, "lse_ptr": lse}


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """What an error is measured against."""
    return attention_scale(case, output, expected) if output == "o_ptr" else lse_scale(case, output)


@once_a_case
def lse_scale(case: Case, output: str) -> torch.Tensor:
    """[B, H_Q, N_Q]"""
    made = make(case)
    q, k, group = made["q_ptr"].double(), made["k_ptr"].double(), case.sizes["H_Q"] // case.sizes["H_KV"]
    moved = Moved.by_rounding(q, k, scale_of(case), visible(case, made), group)
    return statistics_scale(case, moved.lse, moved.m)


def visible_keys(case: Case) -> int:
    """Elements of K that all programs load together, if each loads the tiles that one of its queries may see."""
    _, h_q, _, n_q, _, d = sizes(case)
    block_m, block_n = case.meta["BLOCK_M"], case.meta["BLOCK_N"]
    keys = 0
    for length in key_lengths(case).tolist():
        for start_m in range(0, n_q, block_m):
            end = min(length, start_m + block_m + length - n_q) if case.flags["IS_CAUSAL"] else length
            keys += h_q * min(length, cdiv(max(end, 0), block_n) * block_n)
    return keys * d


def programs(case: Case) -> int:
    """How many programs a grid of tiles of queries has."""
    return cdiv(case.sizes["N_Q"], case.meta["BLOCK_M"]) * case.sizes["B"] * case.sizes["H_Q"]


NEEDED = "a program needs only the tiles of keys that one of its queries may see, each once"
PER_PROGRAM = "one number a program"
PER_QUERY = "one number a query"
heads = partial(flash, grid=lambda n: (cdiv(n["N_Q"], n["BLOCK_M"]), n["B"] * n["H_Q"]))
"""A puzzle with one program for each tile of queries of each head."""
IN_GROUPS: Mapping[str, Callable[[Case], bool]] = {
    "H_Q is a multiple of H_KV, and at most 32,768": lambda case: (
        case.sizes["H_Q"] % case.sizes["H_KV"] == 0 and case.sizes["H_Q"] <= 32_768  # int32 holds H_Q * H_KV
    )
}
ANY_STRIDES = (
    "tensors without stride parameters are contiguous. No stride of the others need be 1, the heads of a token may be adjacent, and offsets may "
    "pass 2³². q, k and v may be expanded, with a stride of 0."
)
HEADS_DOMAIN = replace(
    DOMAIN,
    sizes={"B": (), "H_Q": (), "H_KV": (), **DOMAIN.sizes},
    related=IN_GROUPS,
    memory=ANY_STRIDES,
    accuracy=f"{ROUNDED}. The log-sum-exp is float32 and may be off by 0.0008 % plus the rounding of the scores.",
)
forward = partial(
    heads,
    domain=HEADS_DOMAIN,
    points=8,
    writes={"o": 1, "lse": 1},
    reference=reference,
    scale=scale,
    output_tolerance={"lse_ptr": STATISTICS},
)
"""A puzzle that computes output and log-sum-exp."""
OUTPUT_ONCE = "the output is written once, at the end, and never read: scores, weights and half-done rows stay on chip"
FORWARD = {"q": KEPT, "o": OUTPUT_ONCE, "lse": PER_QUERY}
"""Why the forward pass may move so many bytes, except of K and V."""


def film(case: Case) -> FilmSpec:
    """A film of the forward pass."""
    return FilmSpec(
        case=case,
        diagram=diagram(running(visible_to_head, key_head), ("lse_ptr",)),
        state=FILM_STATE,
        choices={"N_Q": (64, 128), "N_KV": (64, 128, 160), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    )


# ---------------------------------------------------------------------------------------------------------------- parts


def _every_query_sees_a_key(case: Case) -> bool:
    return not case.flags.get("RAGGED") and (not case.flags["IS_CAUSAL"] or case.sizes["N_Q"] <= case.sizes["N_KV"])


def _all_keys_visible(case: Case) -> bool:
    return not case.flags["IS_CAUSAL"] and not case.flags.get("RAGGED")


def _one_key_head_each(case: Case) -> bool:
    return _all_keys_visible(case) and case.sizes["H_Q"] == case.sizes["H_KV"]


def parts(*outputs: str) -> tuple[Part, ...]:
    """The order in which a kernel with heads is written: what each part is judged on."""
    return (
        Part("heads", "several heads and texts, any strides", _one_key_head_each, outputs),
        Part("groups", "query heads share key heads", _all_keys_visible, outputs),
        Part("causal", "no query sees a later key", _every_query_sees_a_key, outputs),
        Part("lengths", "texts of different lengths, and queries that see nothing", lambda case: True, outputs),
    )


# ---------------------------------------------------------------------------------------------------------------- cases

ONE_HEAD = {"B": 1, "H_Q": 1, "H_KV": 1}
HEADS_FACTORS: dict[str, Sequence[Any]] = {
    "heads": ((2, 2), (4, 2), (10, 2), (8, 1)),
    "batches": (1, 2, 3),
    **FACTORS,
    "layout": ("transposed", *MIXED),
    "causal": (True, False),
    "ragged": (0, 1, 2),
}
OTHER_HEADS: dict[str, Sequence[Any]] = {"heads": ((3, 1), (5, 1), (6, 3), (7, 1)), "batches": (5,)}
"""Groups of three, five and seven query heads, three key heads and five batches, each in one case."""
FLAGS: dict[str, Scalar] = {"IS_CAUSAL": False, "RAGGED": 0}
"""The defaults. RAGGED is 1 to 3 for the ways in which batches differ in length (`key_lengths`)."""


def heads_space(
    factors: Mapping[str, Sequence[Any]], allowed: Callable[[Row], bool], largest: Sequence[Mapping[str, Any]]
) -> Space:
    """`attention_space` with batches and heads. Kernels without RAGGED lack the factor "ragged"."""

    def flags(row: Row) -> dict[str, Scalar]:
        return {"IS_CAUSAL": row["causal"], **({"RAGGED": row["ragged"]} if "ragged" in factors else {})}

    def sizes(row: Row) -> dict[str, int]:
        return dict(zip(("B", "H_Q", "H_KV"), (row["batches"], *row["heads"]), strict=True))

    return attention_space(factors, sizes, flags, allowed, largest=largest, once=OTHER_HEADS)


def few_programs(row: Row) -> bool:
    """Leaves out cases of many heads and many tiles, which take long."""
    heads = row["batches"] * row["heads"][0]
    if heads > 4 and row["family"] in IN_ORDER:
        return False
    return heads <= (10 if row["more"] == "keys" else 4)


def forward_space(factors: Mapping[str, Sequence[Any]]) -> Space:
    many_tiles = MANY_TILES | {"batches": 2, "heads": (2, 1)}
    many_keys = MANY_KEYS | {"batches": 1, "heads": (1, 1), "layout": "transposed"}
    return heads_space(factors, few_programs, (many_tiles, many_keys))


heads_table = partial(attention_table, flags=FLAGS)


def small_cases(sizes: Callable[[Case], Mapping[str, int]], flags: Mapping[str, Scalar]) -> tuple[Case, ...]:
    """`SMALL_CASES` with these `sizes` and `flags`, all of them causal."""
    return tuple(
        replace(case, sizes={**sizes(case), **case.sizes}, flags={"IS_CAUSAL": True, **flags}) for case in SMALL_CASES
    )


SMALL_LENGTHS = small_cases(lambda case: {**ONE_HEAD, "B": case.sizes["N_KV"] + 1}, {"RAGGED": 3})
"""Each number of keys with every length from 0 on."""
FORWARD_CASES = (
    *extended(TALL_CASES, ONE_HEAD, {"IS_CAUSAL": True}),
    *extended(SCORE_CASES, ONE_HEAD, {"IS_CAUSAL": False}),
    *attention_table(
        """
        B  H_Q  H_KV  N_Q   N_KV    D    BLOCK_M  BLOCK_N  values                dtype     layout      flags      on   why
        1  3    3     5     23      16   16       16
        1  42   6     3     5       16   16       16       -                     float16   transposed  -          -    more heads than a fixed limit would allow
        2  2    2     37    70      64   32       16       rare_keys             bfloat16  transposed
        1  1    1     270   20      16   16       16       score_pairs_in_sight  -         -           IS_CAUSAL
        1  1    1     5     40_003  16   16       1024     score_pairs_in_sight  -         -           IS_CAUSAL  cpu  more keys than 16 bits can count
        1  1    1     9     75      64   16       16       extreme_scores        float16   -           IS_CAUSAL
        1  1    1     5     61      16   16       16       vast_scores           -         -           IS_CAUSAL  cpu
        1  1    1     5     61      16   16       16       lowest_scores         -         -           IS_CAUSAL  cpu
        1  1    1     5     61      16   16       16       lowest_scores         -         -           SCALE=0.03125  cpu  products below -1e30 (unscaled_floor)
        1  1    1     5     613     16   16       16       creeping_scores
        1  1    1     5     2081    16   16       16       rising_slowly         float16   -           -          -    small rises without a rescale
        1  1    1     21    85      16   16       16       nearly_level          bfloat16  -           IS_CAUSAL
        1  1    1     50    40      16   64       16       -                     -         -           IS_CAUSAL  -    in one tile, one query sees nothing and another sees two tiles
        2  4    2     21    37      16   16       16       -                     -         roomy
        1  1    1     9     41      16   16       16       near_overflow         -         -           IS_CAUSAL
        1  1    1     5     1       16   16       16       constant              -         -           -          -    a sum of exactly 1: its logarithm is 0
        2  8    8     631   577     64   64       64       -                     float16   transposed  IS_CAUSAL  gpu
        1  8    2     1024  1024    128  64       64       -                     bfloat16  -           IS_CAUSAL  gpu
        """,
        flags={"IS_CAUSAL": False},
    ),
)
"""Cases that matter in their own right to all kernels of the forward pass with heads."""
