"""flash_attention_window: attention over the last keys only, with a sink for each head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from checker.authoring import Row, Space, cdiv
from checker.course import attention_heads as heads
from checker.course import attention_values as values
from checker.course.attention import (
    ANY_LENGTH,
    FACTORS,
    FILM_STATE,
    MANY_TILES,
    STATISTICS,
    TALL_CASES,
    TOLERANCE,
    Moved,
    attention,
    attention_space,
    attention_table,
    running,
    statistics_scale,
)
from checker.course.attention import scale as attention_scale
from checker.course.attention_heads import (
    FORWARD,
    HEADS_DOMAIN,
    MIXED,
    ONE_HEAD,
    OTHER_HEADS,
    PER_PROGRAM,
    few_programs,
    key_lengths,
    programs,
    sizes,
    small_cases,
)
from checker.course.attention_values import scale_of
from checker.course.diagrams import attention as diagram
from checker.course.tensors import generator, once_a_case
from checker.puzzle import DTYPES, NORMAL, Case, Family, FilmSpec, Part, Rescales, Scalar, Tensors

TURNS = (120.0, -torch.inf, -120.0, 0.0, -5e25)
"""Sinks of the heads in turn, with the flag SINKS = 2: one that takes everything, none, one that takes nothing, one among the scores,
and one as low as a number that stands for none."""


def sinks(case: Case) -> torch.Tensor:
    """[H_Q] float32: with the flag SINKS = 1 among unit scores, with 2 as in `TURNS`, otherwise none."""
    h_q = case.sizes["H_Q"]
    match int(case.flags["SINKS"]):
        case 1:
            return 2 * torch.randn(h_q, generator=generator(case))
        case 2:
            first = case.sizes["N_KV"]
            return torch.tensor([TURNS[(first + head) % len(TURNS)] for head in range(h_q)])
        case _:
            return torch.full((h_q,), -torch.inf)


def make(case: Case) -> Tensors:
    return {**heads.make(case), "sinks_ptr": sinks(case)}


def visible(case: Case, lengths: torch.Tensor) -> torch.Tensor:
    """[B, 1, N_Q, N_KV], True where a query sees a key: the last `WINDOW` keys up to its own position."""
    _, _, _, n_q, n_kv, _ = sizes(case)
    at = torch.arange(n_q)[:, None] + lengths[:, None, None, None] - n_q
    keys = torch.arange(n_kv)
    return (keys <= at) & (keys > at - case.sizes["WINDOW"])


def visible_to_head(case: Case, tensors: Tensors, at: tuple[int, ...]) -> torch.Tensor:
    """[N_Q, N_KV] of the query head ``at`` = (batch, head)."""
    return visible(case, tensors.get("key_lengths_ptr", key_lengths(case)))[at[0], 0]


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Attention without the sinks, whose weights then make room for exp(sink)."""
    group = case.sizes["H_Q"] // case.sizes["H_KV"]
    k, v = (inputs[name].repeat_interleave(group, dim=1) for name in ("k_ptr", "v_ptr"))
    o, lse = attention(inputs["q_ptr"], k, v, scale_of(case), visible(case, inputs["key_lengths_ptr"]))
    full = torch.logaddexp(lse, inputs["sinks_ptr"][:, None])
    return {"o_ptr": o * torch.exp((lse - full).nan_to_num(nan=0.0))[..., None], "lse_ptr": full}


LOST = {"float32": 2.0**-126, "float16": 2.0**-25, "bfloat16": 2.0**-126}
"""How much a weight may lose beside a sink that takes nearly all: what is below the normal numbers of float32, and in float16 half a step."""


SHARED = 1.6
"""A key that shares its weight with a sink alone loses a whole step of TF32, which cuts off bits; no other key's rounding is beside it."""


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """What an error is measured against. In o, each weight may also lose `LOST`."""
    values_and_lse = scales(case, "")
    if output == "lse_ptr":
        return values_and_lse[..., -1]
    unit = TOLERANCE[case.dtype].c * torch.finfo(DTYPES[case.dtype]).eps
    magnitude = attention_scale(case, output, expected)
    if case.dtype == "float32" and case.flags["SINKS"]:
        magnitude = magnitude * SHARED
    return magnitude + LOST[case.dtype] / unit * values_and_lse[..., :-1]


@once_a_case
def scales(case: Case, output: str) -> torch.Tensor:
    """[B, H_Q, N_Q, D + 1]: the sum of the magnitudes of all values that a query sees, and the scale of its log-sum-exp."""
    made, group = make(case), case.sizes["H_Q"] // case.sizes["H_KV"]
    q, k, v = (made[name].double() for name in ("q_ptr", "k_ptr", "v_ptr"))
    seen = visible(case, made["key_lengths_ptr"])
    moved = Moved.by_rounding(q, k, scale_of(case), seen, group)
    lse = statistics_scale(case, moved.lse, moved.m)
    return torch.cat([seen.double() @ v.abs().repeat_interleave(group, dim=1), lse[..., None]], dim=-1)


def window_keys(case: Case) -> int:
    """Elements of K that all programs load together, if each loads the tiles that one of its queries sees."""
    _, h_q, _, n_q, _, d = sizes(case)
    block_m, block_n = case.meta["BLOCK_M"], case.meta["BLOCK_N"]
    keys = 0
    for length in key_lengths(case).tolist():
        for first in range(length - n_q, length, block_m):
            start = max(first - case.sizes["WINDOW"] + 1, 0) // block_n * block_n
            end = cdiv(max(min(length, first + block_m), 0), block_n) * block_n
            keys += h_q * max(min(length, end) - start, 0)
    return keys * d


WINDOWS = ("one", "few", "tile", "more", "edge", "all")


def window(row: Row, made: Case) -> int:
    """How many keys a query sees, by the word in a row of factors, or the number there.

    "edge" is the shortest window that holds a tile of keys for all queries of a tile, and begins just after the first key of a tile for
    the last query of the first tile.
    """
    (block_m, block_n), n_q, n_kv = row["tile"], made.sizes["N_Q"], made.sizes["N_KV"]
    inner = block_m + block_n - 2
    words = {
        "one": 1,
        "few": 3,
        "tile": block_n,
        "more": block_n + 1,
        "edge": inner + (n_kv - n_q + block_m - 1 - inner) % block_n,
        "all": n_kv + 7,
    }
    return words.get(row["window"]) or int(row["window"])


def window_space() -> Space:
    factors: dict[str, Sequence[Any]] = {
        "window": WINDOWS,
        "heads": ((2, 2), (4, 2), (4, 1)),
        "batches": (1, 3),
        **FACTORS,
        "queries": ("prime", "none"),
        "d": (16, 64),
        "family": (values.score_pairs_in_sight, values.large, NORMAL),
        "scale": ((0.3, ""), (0.0, "")),
        "layout": ("transposed", *MIXED),
        "ragged": (0, 1, 2),
        "sinks": (1, 2, 0),
    }

    def flags(row: Row) -> dict[str, Scalar]:
        return {"RAGGED": row["ragged"], "SINKS": row["sinks"]}

    def head_sizes(row: Row) -> dict[str, int]:
        return dict(zip(("B", "H_Q", "H_KV"), (row["batches"], *row["heads"]), strict=True))

    wider: Mapping[str, Sequence[Any]] = {
        "tile": ((16, 16), (16, 32), (32, 16), (32, 32), (32, 64)),
        "queries": ANY_LENGTH,
        "keys": ANY_LENGTH,
        "window": (*range(1, 80), *("edge",) * 20),
    }
    largest = ({**MANY_TILES, "batches": 2, "heads": (2, 1), "window": 2150, "family": NORMAL},)
    inner = attention_space(factors, head_sizes, flags, few_programs, wider=wider, largest=largest, once=OTHER_HEADS)

    def case(row: Row) -> Case:
        made = inner.case(row)
        return replace(made, sizes={**made.sizes, "WINDOW": window(row, made)})

    return replace(inner, case=case)


def small_windows() -> tuple[Case, ...]:
    """Every length from 0 on with windows from one key on, and queries of which some see nothing."""
    lengths = small_cases(lambda case: {**ONE_HEAD, "B": case.sizes["N_KV"] + 1}, {"RAGGED": 3})[::2]
    tall = heads.extended(TALL_CASES[::2], ONE_HEAD)
    shorts = (1, 2, 3, 5, 15, 16, 17, 40)
    return tuple(
        replace(case, sizes={**case.sizes, "WINDOW": shorts[i % 8]}, flags={"RAGGED": 0, **case.flags, "SINKS": i % 3})
        for i, case in enumerate((*lengths, *tall))
    )


def without_causal(case: Case) -> Case:
    return replace(case, flags={name: value for name, value in case.flags.items() if name != "IS_CAUSAL"})


FILMED = Case(
    {**ONE_HEAD, "N_Q": 96, "N_KV": 96, "WINDOW": 40, "D": 16},
    {"BLOCK_M": 32, "BLOCK_N": 16},
    family=values.rising,
    flags={"RAGGED": 0, "SINKS": 1},
)


def in_26_tiles(family: Family) -> Case:
    """One program without a sink, whose queries all see the first of 26 tiles."""
    sizes = {**ONE_HEAD, "N_Q": 16, "N_KV": 413, "WINDOW": 400, "D": 16}
    return Case(sizes, {"BLOCK_M": 16, "BLOCK_N": 16}, family=family, flags={"RAGGED": 0, "SINKS": 0})


LEVEL, CALM, STEEP = map(in_26_tiles, (values.constant, values.calm_scores, values.climbing_scores))
NEEDED = "a program needs only the tiles of keys that one of its queries sees, each once: none beyond the diagonal, and none before the window"

PUZZLE = heads.heads(
    __file__,
    notebook="08_windows_and_sinks",
    points=6,
    domain=replace(
        HEADS_DOMAIN,
        sizes={**HEADS_DOMAIN.sizes, "WINDOW": ()},
        accuracy=HEADS_DOMAIN.accuracy.replace("1.5 roundings", "1.5 roundings (beside a sink: 2.1)"),
        related={
            **HEADS_DOMAIN.related,
            "N_Q + WINDOW stays below 2³¹": lambda case: case.sizes["N_Q"] + case.sizes["WINDOW"] < 2**31,
        },
        values=f"{HEADS_DOMAIN.values} A sink is -inf or between -1e30 and 1e30. Beside a large sink, a weight below 2⁻¹²⁶ may lose bits, too.",
        masked=("sinks",),
    ),
    reads={"q": 1, "k": window_keys, "v": window_keys, "key_lengths": programs, "sinks": programs},
    writes={"o": 1, "lse": 1},
    because={**FORWARD, "k": NEEDED, "v": NEEDED, "key_lengths": PER_PROGRAM, "sinks": PER_PROGRAM},
    make=make,
    reference=reference,
    scale=scale,
    output_tolerance={"lse_ptr": STATISTICS},
    space=window_space(),
    cases=tuple(map(without_causal, small_windows()))
    + attention_table(
        """
        B  H_Q  H_KV  N_Q  N_KV    WINDOW  D    BLOCK_M  BLOCK_N  values                dtype     layout      flags     on   why
        1  2    1     40   40      1       16   16       16       -                     -         -           SINKS=0   -    a query sees its own key alone
        1  3    3     37   70      20      64   64       32       rare_keys             bfloat16  transposed
        2  4    2     21   37      9       16   16       16       -                     -         roomy       RAGGED=1
        3  4    2     1    15      6       128  32       16       large                 bfloat16  strided     RAGGED=1
        1  41   1     3    23      5       16   16       16       -                     float16   -           SINKS=2   -    more heads than a fixed limit would allow
        1  1    1     5    33_003  40      16   16       16       -                     -         -           -         -    more keys than 16 bits can count, most of them before the window
        1  1    1     2    2083    2000    64   64       32       spike                 bfloat16  strided     SINKS=0   -    more terms than a sum in 16 bits can hold
        1  1    1     270  20      18      16   16       16       score_pairs_in_sight
        1  4    2     33   75      30      16   16       16       extreme_scores        float16   -           SINKS=2
        1  2    2     9    75      50      16   16       16       lowest_scores         -         -           SINKS=0   cpu
        1  4    1     50   90      33      64   32       64       negative              float32   -           SINKS=2   -    a first maximum of 0
        1  4    1     50   90      33      16   16       16       positive              -         strided     SINKS=2   -    exponentials that overflow
        1  1    1     5    613     600     16   16       16       creeping_scores
        1  2    1     10   349     300     16   16       16       one_rise              float16
        1  10   10    5    41      41      16   16       16       common_rise           float16   -           SINKS=0
        1  3    1     160  129     45      32   128      64       -                     -         -           -         -    a tile larger than any in the space
        1  1    1     50   200     16      16   64       32       -                     float16   -           -         -    tiles of which one query sees the first keys, and another the last
        1  1    1     41   85      64      16   32       64       nearly_level          bfloat16  -           SINKS=0
        2  8    8     631  577     128     64   64       64       -                     float16   transposed  RAGGED=1  gpu
        1  8    2     2048  2048   512     128  64       64       -                     bfloat16  -           SINKS=2   gpu
        """,
        flags={"RAGGED": 0, "SINKS": 1},
    )
    + (LEVEL, CALM, STEEP),
    film=FilmSpec(
        case=FILMED,
        diagram=diagram(
            running(visible_to_head, heads.key_head, sink=lambda tensors, at: tensors["sinks_ptr"][at[1]]),
            ("lse_ptr",),
        ),
        state=FILM_STATE,
        choices={"N_Q": (64, 96, 128), "WINDOW": (1, 16, 40, 200), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
    parts=(
        Part(
            "window",
            "every query sees its last WINDOW keys",
            lambda case: not case.flags["SINKS"] and case not in (LEVEL, CALM),
            ("o_ptr", "lse_ptr"),
        ),
        Part("sinks", "a sink for each head", lambda case: case not in (LEVEL, CALM), ("o_ptr", "lse_ptr")),
        Part(
            "lazy",
            "the accumulator is rescaled only when a maximum has grown by more than 8 powers of two",
            lambda case: True,
            ("o_ptr", "lse_ptr"),
            Rescales(LEVEL, CALM, STEEP, tiles=25, each=16 * 16),
        ),
    ),
)
