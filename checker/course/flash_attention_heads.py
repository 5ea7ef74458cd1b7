"""flash_attention_heads: attention as models use it: batch, heads, grouped K/V heads, causal, ragged lengths, any layout."""

from __future__ import annotations

from collections.abc import Mapping

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
from checker.course.attention_heads import (
    heads_case,
    key_lengths,
    laid_out,
    parts,
    seen,
    sizes,
    stride_names,
    strides,
    with_padding,
)
from checker.course.attention_inputs import attention, queries_keys_values, running, scale_of
from checker.course.covering import Row
from checker.course.diagrams import attention as attention_diagram
from checker.course.families import row_magnitude
from checker.puzzle import DTYPES, Allowance, Case, FilmSpec, Hint, Launch, Long, Part, Puzzle, Scalar, Tensors


def make(case: Case) -> Tensors:
    b, h_q, h_kv, n_q, n_kv, d = sizes(case)
    q, k, v = queries_keys_values(case, (b, h_q, n_q, d), (b, h_kv, n_kv, d))
    lengths = key_lengths(case)
    k, v = with_padding(k, v, lengths)
    return {
        "q_ptr": laid_out(q, case, "q_ptr"),
        "k_ptr": laid_out(k, case, "k_ptr"),
        "v_ptr": laid_out(v, case, "v_ptr"),
        "o_ptr": laid_out(torch.zeros_like(q), case, "o_ptr"),
        "lse_ptr": torch.zeros(b, h_q, n_q, dtype=torch.float32),
        "key_lengths_ptr": lengths,
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    _, h_q, h_kv, _, _, _ = sizes(case)
    group = h_q // h_kv
    k, v = (inputs[name].repeat_interleave(group, dim=1) for name in ("k_ptr", "v_ptr"))
    visible = seen(case, inputs["key_lengths_ptr"])
    o, lse = attention(inputs["q_ptr"], k, v, scale_of(case), visible)
    return {"o_ptr": o, "lse_ptr": lse}


def _visible(case: Case, tensors: Tensors, at: tuple[int, ...]) -> torch.Tensor:
    """[N_Q, N_KV] of batch ``at[0]``."""
    return seen(case, tensors["key_lengths_ptr"])[at[0], 0]


def _head_kv(case: Case, at: tuple[int, ...]) -> tuple[int, ...]:
    """Batch and key head of a query head."""
    return (at[0], at[1] // (case.sizes["H_Q"] // case.sizes["H_KV"]))


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    b, h_q, h_kv, n_q, n_kv, d = sizes(case)
    return Launch(
        grid=(-(-n_q // int(meta["BLOCK_M"])), b * h_q),
        arguments={
            **tensors,
            **strides(tensors, *"qkvo"),
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
    keys = 0  # keys loaded, over all programs of all batches
    for length in key_lengths(case).tolist():
        for start_m in range(0, n_q, block_m):
            end = min(length, start_m + block_m + n_kv - n_q) if case.flags["IS_CAUSAL"] else length
            keys += h_q * min(length, -(-max(end, 0) // block_n) * block_n)
    queries, programs = b * h_q * n_q * d * itemsize, b * h_q * -(-n_q // block_m)
    needed = "only the tiles that a query of the tile may see, each once"
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
        "key_lengths_ptr": Allowance(programs * 4, 0, "one number a program"),
    }


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """A row of O is measured against its largest element, a log-sum-exp against its own size."""
    return row_magnitude(case, output, expected) if output == "o_ptr" else magnitude(case, expected)


def _built(row: Row, n_q: int, n_kv: int) -> Case:
    more = built(row)
    more["flags"] |= {"IS_CAUSAL": row["causal"], "RAGGED": row["ragged"]}
    return heads_case(row["batches"], row["heads"], (n_q, n_kv), row["d"], row["tile"], **more)


_FACTORS = {
    "heads": ((2, 2), (4, 2), (10, 2), (8, 1)),
    "batches": (1, 2, 3),
    **FACTORS,
    "layout": ("strided", "transposed", "contiguous"),
    "causal": (True, False),
    "ragged": (0, 1, 2),
}


def _allowed(row: Row) -> bool:
    """Not many heads and many tiles."""
    programs = row["batches"] * row["heads"][0]
    if programs > 4 and row["family"] in TILES_OF_KEYS:
        return False
    return programs <= (10 if row["more"] == "keys" else 4)


PARTS = (
    *parts("o_ptr"),
    Part("lse", "the log-sum-exp", lambda case: True, ("o_ptr", "lse_ptr")),
)


PUZZLE = Puzzle(
    name="flash_attention_heads",
    title="FlashAttention as models use it",
    kernel="flash_attention_heads_kernel",
    parameters=(
        *("q_ptr", "k_ptr", "v_ptr", "o_ptr", "lse_ptr", "key_lengths_ptr"),
        *stride_names(*"qkvo"),
        *("scale", "H_Q", "H_KV", "N_Q", "N_KV", "IS_CAUSAL", "BLOCK_M", "BLOCK_N", "D"),
    ),
    notebook="07_attention_as_models_use_it",
    points=8,
    outputs=("o_ptr", "lse_ptr"),
    statement="Attention over batches and heads: any strides, query heads that share key heads, a causal mask with the ends"
    " aligned, keys padded to key_lengths[b], and the log-sum-exp stored. A query that sees no key gives 0 and a "
    "log-sum-exp of -inf.",
    cases=(
        *covered(_built, _FACTORS, _allowed),
        heads_case(1, (1, 1), (1, 1), 16, (16, 16)),
        heads_case(1, (3, 3), (5, 23), 16, (16, 16)),
        heads_case(3, (2, 1), (1, 90), 64, (16, 16), {"RAGGED": 1}, dtype="float16", family="score_pairs_in_sight"),
        heads_case(2, (2, 1), (1, 45), 128, (16, 16), {"IS_CAUSAL": True}, dtype="bfloat16", layout="transposed"),
        heads_case(
            2, (2, 1), (21, 83), 16, (16, 16), {"IS_CAUSAL": True, "RAGGED": 1}, layout="strided", family="rare_keys"
        ),
        heads_case(2, (2, 2), (37, 70), 64, (32, 16), dtype="bfloat16", layout="transposed", family="rare_keys"),
        heads_case(2, (1, 1), (48, 80), 16, (32, 64), {"RAGGED": 1}),  # 16 divides every size, a tile divides none
        heads_case(1, (1, 1), (37, 1), 16, (16, 16), {"IS_CAUSAL": True}, layout="strided"),
        heads_case(1, (1, 1), (270, 20), 16, (16, 16), {"IS_CAUSAL": True}, family="score_pairs_in_sight"),
        heads_case(9, (2, 1), (5, 23), 16, (16, 16), {"IS_CAUSAL": True, "RAGGED": 1}, family="score_pairs_in_sight"),
        heads_case(1, (1, 1), (16, 445), 16, (16, 16), {"SCALE": OTHER_SCALE}, family="score_triples"),
        # many tiles, many heads, and queries that see nothing
        heads_case(
            3,
            (6, 2),
            (130, 649),
            16,
            (16, 16),
            {"IS_CAUSAL": True, "RAGGED": 2},
            dtype="bfloat16",
            family="large",
            layout="strided",
        ),
        heads_case(2, (6, 3), (66, 655), 16, (16, 16), {"IS_CAUSAL": True, "RAGGED": 1}),
        heads_case(3, (3, 1), (80, 640), 16, (16, 64), {"RAGGED": 1}, dtype="float16", layout="strided"),
        heads_case(
            2,
            (3, 1),
            (140, 112),
            16,
            (32, 16),
            {"IS_CAUSAL": True, "RAGGED": 1},
            dtype="float16",
            family="score_pairs",
            layout="transposed",
        ),
        heads_case(3, (4, 2), (1, 15), 128, (32, 16), {"RAGGED": 1}, dtype="bfloat16", family="large"),
        # so many terms that no sum in 16 bits holds them
        heads_case(1, (1, 1), (2, 649), 64, (16, 16), dtype="float16", family="spike"),
        heads_case(1, (1, 1), (2, 2083), 64, (64, 32), dtype="bfloat16", family="spike", layout="strided"),
        heads_case(1, (1, 1), (9, 75), 16, (16, 16), family="extreme_scores"),
        heads_case(1, (1, 1), (9, 75), 64, (16, 16), {"IS_CAUSAL": True}, dtype="float16", family="extreme_scores"),
        heads_case(1, (1, 1), (9, 75), 128, (16, 16), dtype="bfloat16", family="extreme_scores"),
        heads_case(1, (1, 1), (5, 61), 16, (16, 16), {"IS_CAUSAL": True}, family="vast_scores", devices=CPU),
        heads_case(1, (1, 1), (5, 613), 16, (16, 16), family="creeping_scores"),
        heads_case(1, (1, 1), (5, 413), 16, (16, 16), family="climbing_scores"),
        heads_case(1, (1, 1), (21, 85), 16, (16, 16), {"IS_CAUSAL": True}, family="nearly_level"),
        heads_case(1, (1, 1), (7, 85), 16, (16, 16), family="one_way"),
        heads_case(1, (2, 1), (7, 85), 16, (16, 16), {"IS_CAUSAL": True}, family="blanks"),
        heads_case(
            1, (1, 1), (50, 40), 16, (64, 16), {"IS_CAUSAL": True}
        ),  # of one tile, a query sees nothing and another two tiles
        heads_case(2, (4, 2), (21, 37), 16, (16, 16), layout="roomy"),
        heads_case(3, (2, 1), (21, 37), 32, (16, 32), {"IS_CAUSAL": True}, dtype="bfloat16", layout="transposed"),
        heads_case(1, (1, 1), (9, 41), 16, (16, 16), {"IS_CAUSAL": True}, family="near_overflow"),
        heads_case(1, (1, 1), (9, 41), 64, (16, 16), dtype="float16", family="near_overflow"),
        heads_case(1, (1, 1), (5, 41), 16, (16, 16), {"SCALE": 2.0**-12}, dtype="float16", family="overflowing_scores"),
        heads_case(2, (41, 1), (3, 23), 16, (16, 16), {"RAGGED": 1}, dtype="float16"),  # 41 · (1 / 41) is below 1
        # more heads than anyone thinks share one
        heads_case(1, (82, 2), (3, 23), 16, (16, 16), family="score_pairs_in_sight", layout="strided"),
        heads_case(1, (1, 1), (3, 1103), 16, (16, 16), dtype="float16"),
        heads_case(3, (1, 1), (19, 41), 16, (16, 16), {"RAGGED": 1}, family="constant"),
        heads_case(
            1, (1, 1), (5, 1), 16, (16, 16), family="constant"
        ),  # a sum of exactly 1: its logarithm is 0 and nothing else
        heads_case(1, (1, 1), (19, 263), 32, (32, 64), dtype="bfloat16", family="constant"),
        heads_case(1, (1, 1), (19, 263), 128, (32, 64), {"IS_CAUSAL": True}, dtype="float16", family="constant"),
        # mistakes that show only in few cases asked for these: `make mutants ARGS=--guarded`
        heads_case(3, (3, 1), (2, 1), 16, (32, 16), {"IS_CAUSAL": True}, dtype="bfloat16", layout="strided"),
        heads_case(3, (1, 1), (17, 2), 16, (32, 64), {"IS_CAUSAL": True, "RAGGED": 1}, layout="strided"),
        heads_case(
            1,
            (8, 1),
            (61, 22),
            16,
            (32, 32),
            {"IS_CAUSAL": True, "RAGGED": 1, "SCALE": OTHER_SCALE},
            layout="transposed",
        ),
        heads_case(3, (3, 1), (48, 1), 16, (128, 32), {"RAGGED": 1}, family="constant", layout="strided"),
        heads_case(
            2, (3, 1), (20, 700), 16, (16, 64), {"IS_CAUSAL": True, "RAGGED": 1}, dtype="float16", layout="strided"
        ),
        heads_case(
            1, (2, 2), (27, 9), 128, (32, 16), {"IS_CAUSAL": True, "RAGGED": 1}, dtype="float16", layout="strided"
        ),
        heads_case(3, (3, 1), (64, 23), 16, (64, 32), {"IS_CAUSAL": True}, dtype="bfloat16", layout="strided"),
        heads_case(
            2, (3, 1), (277, 37), 16, (16, 16), {"IS_CAUSAL": True, "RAGGED": 1}, dtype="float16", layout="transposed"
        ),
        # mistakes that a GPU's larger cases alone showed
        heads_case(2, (2, 2), (171, 150), 64, (32, 16), {"IS_CAUSAL": True}, dtype="float16", layout="transposed"),
        heads_case(1, (2, 1), (617, 609), 16, (64, 16), {"IS_CAUSAL": True}, dtype="bfloat16"),
        heads_case(1, (1, 1), (53, 620), 16, (16, 16), {"SCALE": OTHER_SCALE}, dtype="bfloat16", family="score_pairs"),
        heads_case(
            2,
            (8, 2),
            (400, 431),
            64,
            (64, 32),
            {"IS_CAUSAL": True, "RAGGED": 1},
            devices=GPU,
            family="score_pairs_in_sight",
        ),
        heads_case(
            2, (8, 8), (631, 577), 64, (64, 64), {"IS_CAUSAL": True}, devices=GPU, dtype="float16", layout="transposed"
        ),
        heads_case(1, (8, 2), (1024, 1024), 128, (64, 64), {"IS_CAUSAL": True}, devices=GPU, dtype="bfloat16"),
        heads_case(
            3,
            (4, 1),
            (512, 2048),
            128,
            (64, 32),
            {"RAGGED": 2, "SCALE": OTHER_SCALE},
            devices=GPU,
            dtype="bfloat16",
            family="score_pairs",
            layout="strided",
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
        question="Four query heads share two key heads: which key head does query head 3 use? Three queries stand at the end of five "
        "keys: which keys may the first of them see?",
        idea="Key head = head // (H_Q // H_KV). Query i sees key j when j - i <= N_KV - N_Q, and j < key_lengths[batch]. So the loop may "
        "stop early: no query of the tile sees past (pid_m + 1) * BLOCK_M + N_KV - N_Q. A row that has seen nothing has m_new = -inf: "
        "subtract 0 instead, and divide by 1 where l_i is 0.",
        skeleton="batch, head = ...\nhead_kv = ...\nend_n = tl.minimum(tl.load(key_lengths_ptr + batch), N_KV)\nlength = end_n\n"
        "if IS_CAUSAL:\n    end_n = tl.minimum(end_n, ...)\nfor start_n in range(0, end_n, BLOCK_N):\n    ...\n    seen = ...\n"
        "    s = tl.where(seen, s, float('-inf'))\n    m_new = ...\n    m_safe = tl.where(m_new == float('-inf'), 0.0, m_new)\n    ...\n"
        "tl.store(...)  # o\ntl.store(...)  # m_i + log(l), per query",
    ),
    explanation="Heads only choose where a program's rows start; grouped heads share keys, so consecutive heads read the same K and V. "
    "Under a causal mask the tiles above the diagonal hold nothing, and not loading them halves the work. The log-sum-exp m + log(l) "
    "is all that the backward pass needs to rebuild any score's weight without the matrix.",
    long=(
        Long(("q_ptr", "k_ptr", "v_ptr", "o_ptr"), "batch"),
        Long(("q_ptr", "o_ptr"), "head", (1,)),
        Long(("k_ptr", "v_ptr"), "head", (1,)),
        Long(("q_ptr", "o_ptr"), "query", (2,)),
        Long(("k_ptr", "v_ptr"), "key", (2,)),
    ),
    film=FilmSpec(
        case=heads_case(1, (1, 1), (128, 128), 16, (32, 32), {"IS_CAUSAL": True}, family="ramp"),
        diagram=attention_diagram(running(_visible, _head_kv), ("lse_ptr",)),
        state={"m_i": "running max", "l_i": "running sum", "acc": "accumulator", "s": "scores of this tile"},
        choices={"N_Q": (64, 128), "N_KV": (64, 128, 160), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
    drawn=drawn(_built, _FACTORS, _allowed),
    parts=PARTS,
    slips=slips.attention(("contiguous", "transposed", "strided"), slips.grouped_heads),
)
