"""flash_attention_fast: attention over heads, causal or not, in tensors that a tensor descriptor can read; made fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import torch

from checker.course import slips
from checker.course.attention_cases import (
    CPU,
    FACTORS,
    GPU,
    OTHER_SCALE,
    STATISTICS,
    TILES_OF_KEYS,
    TOLERANCE,
    built,
    covered,
    drawn,
    magnitude,
)
from checker.course.attention_heads import AXES, heads_case, laid_out, seen, sizes
from checker.course.attention_inputs import attention, queries_keys_values, running, scale_of
from checker.course.covering import Row
from checker.course.diagrams import attention as attention_diagram
from checker.course.families import row_magnitude
from checker.puzzle import DTYPES, Allowance, Case, FilmSpec, Hint, Launch, Long, Part, Puzzle, Scalar, Tensors

_APART = {
    "q_ptr": ((0, 2, 1, 3), 8),
    "k_ptr": ((1, 0, 2, 3), 16),
    "v_ptr": ((2, 0, 1, 3), 24),
    "o_ptr": ((2, 1, 0, 3), 40),
}
"""Of the layout "apart", for each tensor: the order of its dimensions in memory, and how many elements lie after a row, 16 bytes or
a multiple. No two strides are alike, and a tensor descriptor takes all of them."""


def _laid_out(x: torch.Tensor, case: Case, name: str) -> torch.Tensor:
    """[B, H, N, D] in memory as the case says, the numbers of a row side by side: `attention_heads.laid_out` and "apart"."""
    if case.layout != "apart":
        return laid_out(x, case, name)
    order, gap = _APART[name]
    along = x.permute(order)
    wide = torch.full((*along.shape[:-1], along.shape[-1] + gap), torch.nan, dtype=x.dtype)
    wide[..., : along.shape[-1]] = along
    return wide[..., : along.shape[-1]].permute(sorted(range(4), key=order.__getitem__))


def make(case: Case) -> Tensors:
    b, h_q, h_kv, n_q, n_kv, d = sizes(case)
    q, k, v = queries_keys_values(case, (b, h_q, n_q, d), (b, h_kv, n_kv, d))
    made = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": torch.zeros_like(q)}
    tensors = {name: _laid_out(x, case, name) for name, x in made.items()}
    return {**tensors, "lse_ptr": torch.zeros(b, h_q, n_q, dtype=torch.float32)}


def _seen(case: Case) -> torch.Tensor:
    """[1, 1, N_Q, N_KV]."""
    return seen(case, torch.tensor([case.sizes["N_KV"]]))


def reference(case: Case, inputs: Tensors) -> Tensors:
    _, h_q, h_kv, _, _, _ = sizes(case)
    k, v = (inputs[name].repeat_interleave(h_q // h_kv, dim=1) for name in ("k_ptr", "v_ptr"))
    o, lse = attention(inputs["q_ptr"], k, v, scale_of(case), _seen(case))
    return {"o_ptr": o, "lse_ptr": lse}


def _visible(case: Case, tensors: Tensors, at: tuple[int, ...]) -> torch.Tensor:
    """[N_Q, N_KV], of every head."""
    return _seen(case)[0, 0]


def _head_kv(case: Case, at: tuple[int, ...]) -> tuple[int, ...]:
    """Batch and key head of a query head."""
    return (at[0], at[1] // (case.sizes["H_Q"] // case.sizes["H_KV"]))


def _strides(name: str) -> tuple[tuple[str, int], ...]:
    """``stride_qb`` to ``stride_qm`` of ``"q"``, each with its dimension: of the last one the stride is 1."""
    return tuple((f"stride_{name}{axis}", i) for i, axis in enumerate(AXES[name][:3]))


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    b, h_q, h_kv, n_q, n_kv, d = sizes(case)
    return Launch(
        grid=(-(-n_q // int(meta["BLOCK_M"])), b * h_q),
        arguments={
            **tensors,
            **{stride: tensors[f"{x}_ptr"].stride(axis) for x in "qkvo" for stride, axis in _strides(x)},
            "scale": scale_of(case),
            "H_Q": h_q,
            "H_KV": h_kv,
            "N_Q": n_q,
            "N_KV": n_kv,
        },
        meta={**meta, "IS_CAUSAL": bool(case.flags["IS_CAUSAL"]), "D": d},
        outputs=("o_ptr", "lse_ptr"),
        options={"num_warps": 4, "num_stages": 2},
    )


def budget(case: Case) -> dict[str, Allowance]:
    b, h_q, _, n_q, n_kv, d = sizes(case)
    block_m, block_n, itemsize = case.meta["BLOCK_M"], case.meta["BLOCK_N"], DTYPES[case.dtype].itemsize
    keys = 0  # keys loaded, over all programs
    for start_m in range(0, n_q, block_m):
        end = min(n_kv, start_m + block_m + n_kv - n_q) if case.flags["IS_CAUSAL"] else n_kv
        keys += b * h_q * min(n_kv, -(-max(end, 0) // block_n) * block_n)
    queries = b * h_q * n_q * d * itemsize
    needed = "only the tiles that a query of the tile may see, each once: in one of the two loops, not in both"
    return {
        "q_ptr": Allowance(queries, 0, "a tile of queries is loaded once and kept"),
        "k_ptr": Allowance(keys * d * itemsize, 0, needed),
        "v_ptr": Allowance(keys * d * itemsize, 0, needed),
        "o_ptr": Allowance(
            0,
            queries,
            "the output is written once, at the end, and never read: scores, weights and half-done rows stay on chip",
        ),
        "lse_ptr": Allowance(0, b * h_q * n_q * 4, "one number a query"),
    }


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """A row of O is measured against its largest element, a log-sum-exp against its own size."""
    return row_magnitude(case, output, expected) if output == "o_ptr" else magnitude(case, expected)


_FACTORS = {
    "heads": ((2, 2), (4, 2), (10, 2), (8, 1)),
    "batches": (1, 2, 3),
    **FACTORS,
    "layout": ("apart", "transposed", "contiguous"),
    "causal": (True, False),
}


def _case(*of: Any, **more: Any) -> Case:
    """`attention_heads.heads_case` of texts that are all as long as the tensors."""
    case = heads_case(*of, **more)
    return replace(case, flags={name: value for name, value in case.flags.items() if name != "RAGGED"})


def _built(row: Row, n_q: int, n_kv: int) -> Case:
    more = built(row)
    more["flags"] |= {"IS_CAUSAL": row["causal"]}
    return _case(row["batches"], row["heads"], (n_q, n_kv), row["d"], row["tile"], **more)


def _allowed(row: Row) -> bool:
    """Not many heads and many tiles."""
    programs = row["batches"] * row["heads"][0]
    if programs > 4 and row["family"] in TILES_OF_KEYS:
        return False
    return programs <= (10 if row["more"] == "keys" else 4)


def _own_flags(draw: Random, number: int, sizes: slips.Sizes) -> slips.Flags:
    return {name: value for name, value in slips.grouped_heads(draw, number, sizes).items() if name != "RAGGED"}


def _sees_something(case: Case) -> bool:
    return not case.flags["IS_CAUSAL"] or case.sizes["N_Q"] <= case.sizes["N_KV"]


_CAUSAL = {"IS_CAUSAL": True}

PUZZLE = Puzzle(
    name="flash_attention_fast",
    title="FlashAttention, fast",
    kernel="flash_attention_fast_kernel",
    parameters=(
        *("q_ptr", "k_ptr", "v_ptr", "o_ptr", "lse_ptr"),
        *(stride for x in "qkvo" for stride, _ in _strides(x)),
        *("scale", "H_Q", "H_KV", "N_Q", "N_KV", "IS_CAUSAL", "BLOCK_M", "BLOCK_N", "D"),
    ),
    notebook="13_fast",
    points=8,
    outputs=("o_ptr", "lse_ptr"),
    statement="Attention over batches and heads, causal or not, with the log-sum-exp in base e, in tensors that lie as tensor descriptors "
    "need them: a row's numbers side by side, every other stride a multiple of 16 bytes. It is passed by being right; bench says how fast it is.",
    cases=(
        *covered(_built, _FACTORS, _allowed),
        _case(1, (1, 1), (1, 1), 16, (16, 16)),
        _case(1, (3, 3), (5, 23), 16, (16, 16)),
        _case(3, (2, 1), (1, 90), 64, (16, 16), dtype="float16", family="score_pairs_in_sight"),
        _case(2, (2, 1), (1, 45), 128, (16, 16), _CAUSAL, dtype="bfloat16", layout="transposed"),
        _case(2, (2, 1), (21, 83), 16, (16, 16), _CAUSAL, layout="apart", family="rare_keys"),
        _case(2, (2, 2), (37, 70), 64, (32, 16), dtype="bfloat16", layout="transposed", family="rare_keys"),
        # where the loop without a mask ends: at every place of the diagonal in a tile, before the first key, and never
        _case(1, (2, 2), (64, 64), 16, (16, 16), _CAUSAL),
        _case(1, (2, 1), (64, 71), 16, (32, 16), _CAUSAL, layout="apart"),
        _case(1, (1, 1), (34, 48), 16, (16, 16), _CAUSAL, dtype="bfloat16"),
        _case(1, (1, 1), (48, 65), 16, (16, 32), _CAUSAL, dtype="float16", family="score_pairs"),
        _case(2, (2, 2), (66, 31), 16, (16, 16), _CAUSAL, dtype="float16", layout="transposed"),
        _case(1, (1, 1), (270, 20), 16, (16, 16), _CAUSAL, family="score_pairs_in_sight"),
        _case(1, (1, 1), (37, 1), 16, (16, 16), _CAUSAL, layout="apart"),
        _case(2, (1, 1), (48, 80), 16, (32, 64)),  # 16 divides every size, a tile divides none
        _case(1, (1, 1), (32, 64), 32, (16, 32), dtype="bfloat16", layout="apart"),  # nothing is left for the mask
        _case(1, (1, 1), (16, 445), 16, (16, 16), {"SCALE": OTHER_SCALE}, family="score_triples"),
        # many tiles, many heads
        _case(1, (4, 2), (50, 649), 16, (16, 16), _CAUSAL, dtype="bfloat16", family="large", layout="apart"),
        _case(1, (3, 3), (34, 655), 16, (16, 16), _CAUSAL),
        _case(2, (3, 1), (80, 640), 16, (16, 64), dtype="float16", layout="apart"),
        _case(2, (3, 1), (140, 112), 16, (32, 16), _CAUSAL, dtype="float16", family="score_pairs", layout="transposed"),
        # so many terms that no sum in 16 bits holds them
        _case(1, (1, 1), (2, 649), 64, (16, 16), dtype="float16", family="spike"),
        _case(1, (1, 1), (2, 2083), 64, (64, 32), dtype="bfloat16", family="spike", layout="apart"),
        _case(1, (1, 1), (9, 75), 16, (16, 16), family="extreme_scores"),
        _case(1, (1, 1), (9, 75), 64, (16, 16), _CAUSAL, dtype="float16", family="extreme_scores"),
        _case(1, (1, 1), (9, 75), 128, (16, 16), dtype="bfloat16", family="extreme_scores"),
        _case(1, (1, 1), (5, 61), 16, (16, 16), _CAUSAL, family="vast_scores", devices=CPU),
        _case(1, (1, 1), (5, 613), 16, (16, 16), family="creeping_scores"),
        _case(1, (1, 1), (5, 413), 16, (16, 16), family="climbing_scores"),
        _case(1, (1, 1), (21, 85), 16, (16, 16), _CAUSAL, family="nearly_level"),
        _case(1, (1, 1), (7, 85), 16, (16, 16), family="one_way"),
        _case(1, (2, 1), (7, 85), 16, (16, 16), _CAUSAL, family="blanks"),
        _case(1, (1, 1), (50, 40), 16, (64, 16), _CAUSAL),  # of one tile, a query sees nothing and another two tiles
        _case(2, (4, 2), (21, 37), 16, (16, 16), layout="roomy"),
        _case(3, (2, 1), (21, 37), 32, (16, 32), _CAUSAL, dtype="bfloat16", layout="transposed"),
        _case(1, (1, 1), (9, 41), 16, (16, 16), _CAUSAL, family="near_overflow"),
        _case(1, (1, 1), (9, 41), 64, (16, 16), dtype="float16", family="near_overflow"),
        _case(1, (1, 1), (5, 41), 16, (16, 16), {"SCALE": 2.0**-12}, dtype="float16", family="overflowing_scores"),
        _case(1, (82, 2), (3, 5), 16, (16, 16)),  # more heads than anyone thinks share one
        _case(1, (1, 1), (3, 1103), 16, (16, 16), dtype="float16"),
        _case(3, (1, 1), (19, 41), 16, (16, 16), family="constant"),
        _case(1, (1, 1), (5, 1), 16, (16, 16), family="constant"),  # a sum of exactly 1: its logarithm is 0
        _case(1, (1, 1), (19, 263), 32, (32, 64), dtype="bfloat16", family="constant"),
        _case(1, (1, 1), (19, 263), 128, (32, 64), _CAUSAL, dtype="float16", family="constant"),
        _case(3, (3, 1), (64, 23), 16, (64, 32), _CAUSAL, dtype="bfloat16", layout="apart"),
        _case(2, (8, 2), (400, 431), 64, (64, 32), _CAUSAL, devices=GPU, family="score_pairs_in_sight"),
        _case(2, (8, 8), (631, 577), 64, (64, 64), _CAUSAL, devices=GPU, dtype="float16", layout="transposed"),
        _case(1, (8, 2), (1024, 1024), 128, (64, 64), _CAUSAL, devices=GPU, dtype="bfloat16"),
        _case(
            3,
            (4, 1),
            (512, 2048),
            128,
            (64, 32),
            {"SCALE": OTHER_SCALE},
            devices=GPU,
            dtype="bfloat16",
            family="score_pairs",
            layout="apart",
        ),
        # lengths that nobody chose for their divisors
        *(
            _case(1, (2, 2), (n, n), 64, (64, 128), {"IS_CAUSAL": causal}, devices=GPU, dtype="float16")
            for n in (17, 1000, 4097)
            for causal in (True, False)
        ),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=scale,
    tolerance=TOLERANCE,
    output_tolerance={"lse_ptr": STATISTICS},
    hint=Hint(
        question="Of the key tiles that a program of a causal kernel walks over, most lie left of the diagonal and inside the text. What does "
        "the mask change there? And how many multiplications does exp(s * scale - m) hide, if the hardware knows only powers of two?",
        idea="Multiply scale by log2(e) once, before the loop: p = exp2(s * scale_2 - m) with m = max(s) * scale_2, and the log-sum-exp is "
        "(m + log2(l)) * ln(2). Walk in two loops: from 0 to full_n without a mask, where full_n is the first key that some query "
        "of the tile does not see, rounded down to a whole tile; then to end_n with the mask. Only in the second loop can m be -inf. Load K and V "
        "through tensor descriptors of [N_KV, D], made before the loop; scores past N_KV still have to be -inf.",
        skeleton="k_desc = tl.make_tensor_descriptor(..., [N_KV, D], [stride_kn, 1], [BLOCK_N, D])\n...\nfull_n = whole_n // BLOCK_N * BLOCK_N\n"
        "scale_2 = ...\nq = q_desc.load([start_m, 0])\nfor MASKED in tl.static_range(2):\n    first = full_n if MASKED else 0\n"
        "    last = end_n if MASKED else full_n\n    for start_n in range(first, last, BLOCK_N):\n        k = k_desc.load([start_n, 0])\n        s = ...\n"
        "        if MASKED:\n            s = tl.where(..., s, float('-inf'))\n        m_new = ...\n        ...\no_desc.store([start_m, 0], ...)\n"
        "tl.store(...)  # (m_i + tl.log2(l)) * ln(2), per query",
    ),
    explanation="Nothing about the sums has changed. The exponential unit computes powers of two, so a factor log2(e) that is folded into "
    "the scale saves a multiplication for every score. In a tile that every query sees whole a mask changes nothing, and comparing costs nearly as much as "
    "the exponential: so those tiles have a loop of their own. A descriptor lets one instruction fetch a tile, where 128 lanes computed addresses "
    "before. And the longest walks begin first, so that none of them is still running alone at the end.",
    long=(
        Long(("q_ptr", "k_ptr", "v_ptr", "o_ptr"), "batch"),
        Long(("q_ptr", "o_ptr"), "head", (1,)),
        Long(("k_ptr", "v_ptr"), "head", (1,)),
        Long(("q_ptr", "o_ptr"), "query", (2,)),
        Long(("k_ptr", "v_ptr"), "key", (2,)),
    ),
    film=FilmSpec(
        case=_case(1, (1, 1), (128, 128), 16, (32, 32), _CAUSAL, family="ramp"),
        diagram=attention_diagram(running(_visible, _head_kv), ("lse_ptr",)),
        state={"m_i": "running max", "l_i": "running sum", "acc": "accumulator", "s": "scores of this tile"},
        choices={"N_Q": (64, 128), "N_KV": (64, 128, 160), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
    drawn=drawn(_built, _FACTORS, _allowed),
    parts=(
        Part(
            "heads",
            "several heads and texts",
            lambda case: not case.flags["IS_CAUSAL"] and case.sizes["H_Q"] == case.sizes["H_KV"],
            ("o_ptr",),
        ),
        Part("groups", "query heads share key heads", lambda case: not case.flags["IS_CAUSAL"], ("o_ptr",)),
        Part("causal", "no query sees a later key", _sees_something, ("o_ptr",)),
        Part("nothing", "queries that see nothing", lambda case: True, ("o_ptr",)),
        Part("lse", "the log-sum-exp in base e", lambda case: True, ("o_ptr", "lse_ptr")),
    ),
    slips=slips.attention(("contiguous", "transposed", "apart"), _own_flags),
)
