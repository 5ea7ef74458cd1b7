"""Decoding, which two puzzles share: one query of each head, keys in splits, and query heads that share keys in one tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from checker.authoring import Row, Space
from checker.authoring.space import length
from checker.course import attention_heads as heads
from checker.course import attention_values as values
from checker.course.attention import ANY_LENGTH, REMAINDERS, SCORES, STATISTICS, Moved, attention, statistics_scale
from checker.course.attention import scale as attention_scale
from checker.course.attention_values import WIDTHS, scale_of
from checker.course.diagrams import ONLINE_ATTENTION, scores
from checker.films.diagram import Band, Diagram, Drawn, RunningState
from checker.puzzle import NORMAL, Case, Domain, Scalar, Tensors

Inputs = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def sizes(case: Case) -> tuple[int, int, int, int, int, int]:
    """B, H_Q, H_KV, N_KV, SPLITS, D. Raises ValueError where the query heads do not fall into equal groups that fit in a tile."""
    b, h_q, h_kv, n_kv, splits, d = (case.sizes[name] for name in ("B", "H_Q", "H_KV", "N_KV", "SPLITS", "D"))
    if h_q % h_kv:
        raise ValueError(f"{h_q} query heads cannot share {h_kv} key heads evenly")
    if h_q // h_kv > case.meta["BLOCK_G"]:
        raise ValueError(f"{h_q // h_kv} query heads do not fit in a tile of {case.meta['BLOCK_G']}")
    return b, h_q, h_kv, n_kv, splits, d


def queries_keys_values(case: Case) -> Inputs:
    """q [B, H_Q, D], k and v [B, H_KV, N_KV, D]: the query heads of a group have scores of their own in every family."""
    b, h_q, h_kv, n_kv, _, d = sizes(case)
    q, k, v = values.queries_keys_values(case, (b, h_kv, h_q // h_kv, d), (b, h_kv, n_kv, d))
    return q.reshape(b, h_q, d), k, v


def parts_of(case: Case) -> Tensors:
    """The outputs: o_part [B, H_Q, SPLITS, D] and lse_part [B, H_Q, SPLITS], float32."""
    b, h_q, _, _, splits, d = sizes(case)
    return {"o_part_ptr": torch.zeros(b, h_q, splits, d), "lse_part_ptr": torch.zeros(b, h_q, splits)}


def in_split(case: Case, lengths: torch.Tensor) -> torch.Tensor:
    """[B, 1, SPLITS, N_KV], True where a key belongs to a split."""
    _, _, _, n_kv, splits, _ = sizes(case)
    lengths = lengths[:, None, None, None]
    share = (lengths + splits - 1) // splits
    keys = torch.arange(n_kv)
    return (keys < lengths) & (keys // share.clamp(min=1) == torch.arange(splits)[:, None])


def _one_query_a_split(case: Case, q: torch.Tensor) -> torch.Tensor:
    """[B, H_Q, SPLITS, D]: attention sees each split as a query of its own, with the keys of that split."""
    return q[:, :, None].expand(-1, -1, case.sizes["SPLITS"], -1)


def attention_in_parts(case: Case, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> Tensors:
    """The outputs of every split in float64, from q [B, H_Q, D], k and v [B, H_KV, N_KV, D]."""
    group = case.sizes["H_Q"] // case.sizes["H_KV"]
    k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
    o, lse = attention(_one_query_a_split(case, q), k, v, scale_of(case), in_split(case, lengths))
    return {"o_part_ptr": o, "lse_part_ptr": lse}


def scale(case: Case, output: str, expected: torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """What an error is measured against."""
    if output == "o_part_ptr":
        return attention_scale(case, output, expected)
    split, group = in_split(case, heads.key_lengths(case)), case.sizes["H_Q"] // case.sizes["H_KV"]
    moved = Moved.by_rounding(_one_query_a_split(case, q.double()), k.double(), scale_of(case), split, group)
    return statistics_scale(case, moved.lse, moved.m)


def programs(case: Case) -> int:
    return case.sizes["SPLITS"] * case.sizes["B"] * case.sizes["H_KV"]


def queries_loaded(case: Case) -> int:
    """Each program loads the queries of its group."""
    return case.sizes["SPLITS"] * case.sizes["B"] * case.sizes["H_Q"] * case.sizes["D"]


def keys_loaded(case: Case) -> int:
    """How many keys of all heads there are: splits share them."""
    return case.sizes["H_KV"] * sum(heads.key_lengths(case).tolist())


BECAUSE = {
    "q": "each program needs the queries of its group",
    "k": "no two splits share a key, and all query heads of a group use one load of it",
    "v": "no two splits share a value, and all query heads of a group use one load of it",
    "key_lengths": heads.PER_PROGRAM,
}
OUTPUT_TOLERANCE = {"lse_part_ptr": STATISTICS}
DOMAIN = Domain(
    sizes={"B": (), "H_Q": (), "H_KV": (), "N_KV": (), "SPLITS": (), "D": WIDTHS},
    tiles={"BLOCK_G": 16, "BLOCK_N": 16},
    related={
        **heads.IN_GROUPS,
        "BLOCK_G is at least H_Q / H_KV": lambda case: case.meta["BLOCK_G"] * case.sizes["H_KV"] >= case.sizes["H_Q"],
        "N_KV + SPLITS stays below 2³¹": lambda case: case.sizes["N_KV"] + case.sizes["SPLITS"] < 2**31,
    },
    values=SCORES,
    memory="q, o_part and lse_part are contiguous. k and v may have any strides, even 0 (expanded), and offsets may pass 2³².",
    accuracy="o_part may be off by 1.5 roundings of an operand (float32 rounds to TF32), relative to the largest element of its row, plus "
    "the effect of rounding the scaled queries again. lse_part may be off by 0.0008 % plus the rounding of the scores.",
    expanded=("k", "v"),
)
FLAGS: dict[str, Scalar] = {"RAGGED": 0}
SHAPES = {
    *(("float32", 16, 16), ("float16", 16, 32), ("bfloat16", 16, 64)),
    *(("float32", 64, 64), ("float16", 64, 16), ("bfloat16", 64, 32)),
}
"""Pairs of dtype, D and BLOCK_N, each once: cases of one shape are compiled once and simulated together."""
FACTORS: Mapping[str, Sequence[Any]] = {
    "family": (values.score_pairs_in_sight, values.large, NORMAL, values.within_a_step),
    "splits": (1, 3, 4, 9),
    "heads": ((2, 2), (4, 2), (8, 1)),
    "batches": (1, 3),
    "keys": REMAINDERS,
    "dtype": ("float32", "float16", "bfloat16"),
    "layout": ("transposed", "strided", "mixed 1", "mixed 4"),
    "tile": (16, 32, 64),
    "d": (16, 64),
    "scale": (0.3, 0.0),
    "ragged": (0, 1, 2),
}


def space(layouts: Sequence[str], more: Mapping[str, Sequence[Any]], wider: Mapping[str, Sequence[Any]]) -> Space:
    """Cases of decoding with these layouts of k and v. `more` are the puzzle's own factors: its sizes, and flags in lower case."""

    def case(row: Row) -> Case:
        block = row["tile"]
        n_kv = row.get("n_kv") or length(5 * block, block, row["keys"], off_edges=False)
        b, (h_q, h_kv) = row["batches"], row["heads"]
        own = {name: row[name] for name in more if name.isupper()}
        flags = {"RAGGED": row["ragged"], **{name.upper(): row[name] for name in more if name.islower()}}
        if row["scale"]:
            flags["SCALE"] = row["scale"]
        return Case(
            {"B": b, "H_Q": h_q, "H_KV": h_kv, "N_KV": n_kv, "SPLITS": row["splits"], **own, "D": row["d"]},
            {"BLOCK_G": 16, "BLOCK_N": block},
            row["dtype"],
            row["family"],
            row["layout"],
            flags=flags,
        )

    return Space(
        {**FACTORS, "layout": layouts, **more},
        case,
        lambda row: (row["dtype"], row["d"], row["tile"]) in SHAPES,
        wider={"keys": ANY_LENGTH, "splits": range(1, 20), "scale": (0.0, 0.05, 0.41, 0.9), **wider},
        largest=({"n_kv": 41_234, "tile": 64, "batches": 1, "heads": (2, 1), "splits": 31, "family": NORMAL, "d": 16},),
        once={"heads": ((3, 1), (5, 1), (6, 3), (16, 1)), "batches": (5,), "splits": (2, 7, 70)},
    )


def one_head(flags: Mapping[str, Scalar], more: Mapping[str, int]) -> tuple[Case, ...]:
    """Small numbers of keys with every length from 0 on, in more splits than some have keys."""
    base = Case({"B": 1, "H_Q": 1, "H_KV": 1}, {"BLOCK_G": 16, "BLOCK_N": 16}, flags={"RAGGED": 3, **flags})
    return tuple(
        replace(base, sizes={"B": n + 1, "H_Q": h, "H_KV": 1, "N_KV": n, "SPLITS": splits, **more, "D": 16})
        for n, splits, h in ((1, 3, 1), (5, 2, 3), (9, 4, 1), (17, 5, 2), (33, 3, 16), (40, 1, 1))
    )


def diagram() -> Diagram:
    """The square of scores with the heads that share keys down and the keys across."""
    return Diagram(
        {
            "q_ptr": Drawn(("head", "feature")),
            "k_ptr": Drawn(("key", "feature")),
            "v_ptr": Drawn(("key", "value")),
            "o_part_ptr": Drawn(("split", "value")),
        },
        down=(
            Band("feature", 48),
            Band("head", 96, 12, numbered=True),
            Band("value", 48),
            Band("split", 96, 12, numbered=True),
        ),
        across=(Band("feature"), Band("key", 340, 8, numbered=True), Band("", 14), Band("value")),
        running=RunningState("k_ptr", "q_ptr", ("m_i", "l_i"), update=ONLINE_ATTENTION),
        square=scores("heads {rows}", "heads {rows}", ("all heads of a group", "share one load of k")),
    )
