"""attention_dq: the way back to queries: one program per tile of queries, which walks over the keys that it sees."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from checker.course import slips
from checker.course.attention_cases import GPU, OTHER_SCALE
from checker.course.attention_gradients import (
    MANY_SMALL,
    TOLERANCE,
    asked_for,
    drawn,
    every_pair,
    gradients,
    inputs,
    lost,
)
from checker.course.attention_heads import heads_case, key_lengths, laid_out, parts, sizes, stride_names, strides
from checker.course.attention_inputs import scale_of
from checker.course.diagrams import attention_dq as stage
from checker.puzzle import DTYPES, Allowance, Case, FilmSpec, Hint, Launch, Long, Puzzle, Scalar, Tensors

OUTPUTS = ("dq_ptr",)
STRIDED = ("q", "k", "v", "do", "dq")


def order(walked: int, shared: int) -> tuple[int, int]:
    """N_Q and N_KV: a program walks over keys, and programs share the queries."""
    return (shared, walked)


def make(case: Case) -> Tensors:
    given = inputs(case)
    lengths = given.pop("key_lengths_ptr")
    dq = laid_out(torch.zeros_like(given["q_ptr"]), case, "dq_ptr")
    return {**given, "dq_ptr": dq, "key_lengths_ptr": lengths}


def reference(case: Case, inputs: Tensors) -> Tensors:
    return {"dq_ptr": gradients(case, inputs).dq}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    b, h_q, h_kv, n_q, n_kv, d = sizes(case)
    numbers = {"scale": scale_of(case), "H_Q": h_q, "H_KV": h_kv, "N_Q": n_q, "N_KV": n_kv}
    return Launch(
        grid=(-(-n_q // int(meta["BLOCK_M"])), b * h_q),
        arguments={**tensors, **strides(tensors, *STRIDED), **numbers},
        meta={**meta, "IS_CAUSAL": bool(case.flags["IS_CAUSAL"]), "D": d},
        outputs=OUTPUTS,
        options={"num_warps": 4, "num_stages": 2},
    )


def budget(case: Case) -> dict[str, Allowance]:
    b, h_q, _, n_q, n_kv, d = sizes(case)
    block_m, block_n, row = case.meta["BLOCK_M"], case.meta["BLOCK_N"], d * DTYPES[case.dtype].itemsize
    keys = 0  # keys loaded, over all programs of all batches
    for length in key_lengths(case).tolist():
        for start_m in range(0, n_q, block_m):
            end = min(length, start_m + block_m + n_kv - n_q) if case.flags["IS_CAUSAL"] else length
            keys += h_q * min(length, -(-max(end, 0) // block_n) * block_n)
    queries, programs = b * h_q * n_q, b * h_q * -(-n_q // block_m)
    needed = "only the tiles that a query of the tile may see, each once"
    kept = "a tile of queries is loaded once and kept"
    return {
        "q_ptr": Allowance(queries * row, 0, kept),
        "k_ptr": Allowance(keys * row, 0, needed),
        "v_ptr": Allowance(keys * row, 0, needed),
        "do_ptr": Allowance(queries * row, 0, kept),
        "lse_ptr": Allowance(queries * 4, 0, "one number a query"),
        "delta_ptr": Allowance(queries * 4, 0, "one number a query"),
        "dq_ptr": Allowance(
            0, queries * row, "written once, at the end, and never read: weights and half-done rows stay on chip"
        ),
        "key_lengths_ptr": Allowance(programs * 4, 0, "one number a program"),
    }


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """The sum of the magnitudes that a gradient is made of, each with what it may lose."""
    return lost(case, output)


PUZZLE = Puzzle(
    name="attention_dq",
    title="The gradient of queries",
    kernel="attention_dq_kernel",
    parameters=(
        *("q_ptr", "k_ptr", "v_ptr", "do_ptr", "lse_ptr", "delta_ptr", "dq_ptr", "key_lengths_ptr"),
        *stride_names(*STRIDED),
        *("scale", "H_Q", "H_KV", "N_Q", "N_KV", "IS_CAUSAL", "BLOCK_M", "BLOCK_N", "D"),
    ),
    notebook="09_two_loops_back",
    points=5,
    outputs=OUTPUTS,
    statement="dQ = scale · dS K with P = exp(scale · QKᵀ − lse) and dS = P ∘ (dO Vᵀ − Δ), for batches and heads, any strides, query"
    " heads that share key heads, a causal mask with the ends aligned, and keys padded to key_lengths[b]. A query that sees no key has an"
    " lse of -inf and a gradient of 0. lse and Δ are given; the weights P are made again, tile by tile.",
    cases=(
        *every_pair(),
        heads_case(1, (1, 1), (1, 2), 16, (16, 16)),
        heads_case(1, (3, 3), (5, 23), 16, (16, 16)),
        heads_case(
            2, (2, 1), (21, 83), 16, (16, 16), {"IS_CAUSAL": True, "RAGGED": 1}, layout="strided", family="rare_keys"
        ),
        heads_case(2, (2, 2), (37, 70), 64, (32, 16), dtype="bfloat16", layout="transposed", family="rare_keys"),
        heads_case(2, (1, 1), (48, 80), 16, (32, 64), {"RAGGED": 1}),  # 16 divides every size, a tile divides none
        heads_case(1, (1, 1), (37, 2), 16, (16, 16), {"IS_CAUSAL": True}, layout="strided"),
        heads_case(1, (1, 1), (270, 20), 16, (16, 16), {"IS_CAUSAL": True}, family="negative"),
        heads_case(9, (2, 1), (5, 23), 16, (16, 16), {"IS_CAUSAL": True, "RAGGED": 1}, family="negative"),
        # more heads than anyone thinks share one
        heads_case(1, (82, 2), (3, 5), 16, (16, 16), dtype="float16", layout="strided"),
        heads_case(2, (4, 2), (21, 37), 16, (16, 16), layout="roomy"),
        heads_case(2, (4, 2), (37, 21), 32, (16, 32), {"IS_CAUSAL": True}, dtype="float16", layout="roomy"),
        heads_case(3, (2, 1), (21, 37), 16, (16, 16), layout="transposed"),
        heads_case(1, (1, 1), (50, 40), 16, (64, 16), {"IS_CAUSAL": True}),
        heads_case(1, (2, 1), (37, 53), 16, (16, 16), family="one_way"),
        heads_case(1, (2, 1), (37, 85), 16, (16, 16), family="blanks"),
        heads_case(1, (1, 1), order(1103, 3), 16, (16, 16), dtype="float16"),
        *asked_for(order),
        # so many terms that no sum in 16 bits holds them
        heads_case(1, (1, 1), (1, 661), 16, (16, 16), dtype="float16", family=MANY_SMALL),
        heads_case(1, (1, 1), (1, 661), 32, (16, 16), dtype="bfloat16", family=MANY_SMALL),
        # mistakes that a GPU's larger cases alone showed
        heads_case(2, (2, 2), (171, 150), 64, (32, 16), {"IS_CAUSAL": True}, dtype="float16", layout="transposed"),
        heads_case(1, (4, 2), (53, 641), 16, (16, 16), {"IS_CAUSAL": True}, dtype="bfloat16"),
        heads_case(2, (2, 1), (150, 151), 16, (16, 16), {"IS_CAUSAL": True, "RAGGED": 1}, family="negative"),
        heads_case(
            3,
            (3, 1),
            (20, 1088),
            128,
            (16, 64),
            {"RAGGED": 2, "SCALE": OTHER_SCALE},
            dtype="bfloat16",
            family="positive",
            layout="strided",
        ),
        heads_case(
            2, (8, 2), (400, 431), 64, (64, 32), {"IS_CAUSAL": True, "RAGGED": 1}, devices=GPU, family="negative"
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
            family="positive",
            layout="strided",
        ),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=scale,
    tolerance=TOLERANCE,
    hint=Hint(
        question="The forward kernel kept a maximum and a sum for every query and mended them in every round: which of that is still needed when "
        "the log-sum-exp is there from the start?",
        idea="None of it: p = exp(s - lse) is a weight, whichever tile comes first. Keep q, do, lse and delta, walk over keys as the forward kernel "
        "does, up to the last key that the tile sees. dp = do @ vᵀ, ds = p * (dp - delta) with delta by rows, and dq adds up ds @ k. p has to be 0 "
        "where a key is hidden, and that has to be said after exp, since lse may be -inf. Multiply by scale once, at the end.",
        skeleton="q, do, lse, delta = ...\ndq = tl.zeros([BLOCK_M, D], tl.float32)\nend_n = ...\nfor start_n in range(0, end_n, BLOCK_N):\n"
        "    k, v = ...\n    s = tl.dot(q, tl.trans(k)) * scale\n    seen = ...\n    p = tl.where(seen, tl.exp(...), 0.0)\n    dp = ...\n"
        "    ds = ...\n    dq = tl.dot(ds.to(k.dtype), k, dq)\ntl.store(...)  # dq * scale",
    ),
    explanation="dQ has the loop of the forward kernel, without its maximum, its sum and its rescaling: the log-sum-exp knows both. Softmax hands back "
    "P ∘ (dP − Δ): what all weights of a row gain together is taken off, because they share one sum. A second kernel that walks the other way "
    "makes dK and dV: in one kernel either dQ or dK and dV would have to be added up in memory by many programs at once.",
    long=(
        Long(("q_ptr", "k_ptr", "v_ptr", "do_ptr", "dq_ptr"), "batch"),
        Long(("q_ptr", "do_ptr", "dq_ptr"), "head", (1,)),
        Long(("k_ptr", "v_ptr"), "head", (1,)),
        Long(("q_ptr", "do_ptr", "dq_ptr"), "query", (2,)),
        Long(("k_ptr", "v_ptr"), "key", (2,)),
    ),
    film=FilmSpec(
        case=heads_case(1, (1, 1), (64, 64), 16, (16, 16), {"IS_CAUSAL": True}, family="rising"),
        diagram=stage(),
        state={"dq": "gradient of the queries", "p": "weights of this tile", "ds": "dS of this tile"},
        choices={"N_Q": (32, 64), "N_KV": (32, 64, 80), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
    drawn=drawn(order),
    parts=parts(*OUTPUTS),
    slips=slips.attention_gradients(),
)
