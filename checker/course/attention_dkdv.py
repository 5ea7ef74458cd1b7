"""attention_dkdv: the gradients of keys and values. One program per tile of keys walks over the queries that see it."""

from __future__ import annotations

from collections.abc import Mapping

from checker.authoring import puzzle
from checker.course import attention_gradients, attention_heads
from checker.course.attention_gradients import MANY_SMALL, every_pair, gpu_cases, gradients, shared_cases
from checker.course.attention_heads import (
    CAUSAL,
    CAUSAL_RAGGED,
    FULL_SCALED,
    RAGGED,
    heads_case,
    key_lengths,
    parts,
    sizes,
)
from checker.course.diagrams import attention_dkdv
from checker.puzzle import DTYPES, Allowance, Case, FilmSpec, Launch, Scalar, Tensors

OUTPUTS = ("dk_ptr", "dv_ptr")
STRIDED = ("q", "k", "v", "do", "dk", "dv")


def order(walked: int, shared: int) -> tuple[int, int]:
    """(N_Q, N_KV) or (BLOCK_M, BLOCK_N): a program walks over queries, and programs share the keys."""
    return (walked, shared)


def make(case: Case) -> Tensors:
    return attention_gradients.make(case, OUTPUTS)


def reference(case: Case, inputs: Tensors) -> Tensors:
    found = gradients(case, inputs)
    return {"dk_ptr": found.dk, "dv_ptr": found.dv}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    return attention_heads.launch(case, tensors, meta, OUTPUTS, by_keys=True)


def budget(case: Case) -> dict[str, Allowance]:
    b, h_q, h_kv, n_q, n_kv, d = sizes(case)
    block_m, block_n, row = case.meta["BLOCK_M"], case.meta["BLOCK_N"], d * DTYPES[case.dtype].itemsize
    queries, keys = 0, 0  # queries loaded, over all programs of all batches, and keys that there are
    for length in key_lengths(case).tolist():
        keys += h_kv * length
        for start_n in range(0, length, block_n):
            begin = max(start_n - (n_kv - n_q), 0) // block_m * block_m if case.flags["IS_CAUSAL"] else 0
            queries += h_q * max(n_q - begin, 0)
    needed = "only the tiles that see a key of the tile, each once for every query head"
    once = "written once, at the end, and never read: the sum over queries and heads stays on chip"
    return {
        "q_ptr": Allowance(queries * row, 0, needed),
        "k_ptr": Allowance(keys * row, 0, "a tile of keys is loaded once and kept"),
        "v_ptr": Allowance(keys * row, 0, "a tile of values is loaded once and kept"),
        "do_ptr": Allowance(queries * row, 0, needed),
        "lse_ptr": Allowance(queries * 4, 0, needed),
        "delta_ptr": Allowance(queries * 4, 0, needed),
        "dk_ptr": Allowance(0, b * h_kv * n_kv * row, once),
        "dv_ptr": Allowance(0, b * h_kv * n_kv * row, once),
        "key_lengths_ptr": Allowance(b * h_kv * -(-n_kv // block_n) * 4, 0, "one number a program"),
    }


PUZZLE = puzzle(
    __file__,
    notebook="09_two_loops_back",
    points=8,
    outputs=OUTPUTS,
    cases=(
        *every_pair(),
        heads_case(1, (1, 1), (1, 1), 16, (16, 16)),
        heads_case(1, (3, 3), (5, 23), 16, (16, 16)),
        heads_case(2, (2, 1), (21, 83), 16, (16, 16), CAUSAL_RAGGED, layout="strided", family="rare_keys"),
        heads_case(2, (2, 2), (37, 70), 64, (32, 16), dtype="bfloat16", layout="transposed", family="rare_keys"),
        heads_case(2, (1, 1), (48, 80), 16, (32, 64), RAGGED),  # 16 divides every size, a tile divides none
        heads_case(1, (1, 1), (37, 1), 16, (16, 16), CAUSAL, layout="strided"),
        heads_case(1, (1, 1), (20, 270), 16, (16, 16), CAUSAL, family="negative"),
        heads_case(9, (2, 1), (5, 23), 16, (16, 16), CAUSAL_RAGGED, family="negative"),
        # a single key: not for attention_dq, whose gradient is then 0
        heads_case(3, (4, 2), (19, 1), 16, (16, 16), RAGGED, layout="strided"),
        # more heads than a fixed limit would allow
        heads_case(1, (82, 2), (3, 5), 16, (16, 16), dtype="float16", layout="strided"),
        heads_case(1, (2, 1), (21, 19), 16, (16, 16), family="far_below_zero"),
        heads_case(
            1, (1, 1), (40_003, 5), 16, (256, 16), family="rising"
        ),  # every key is seen by more queries than 16 bits can count
        *shared_cases(order),
        heads_case(1, (1, 1), (37, 53), 16, (16, 16), family="vanishing_tile"),
        # more terms than a sum in 16 bits can hold
        heads_case(1, (1, 1), (661, 3), 16, (16, 16), dtype="float16", family=MANY_SMALL),
        heads_case(1, (1, 1), (661, 3), 32, (16, 16), dtype="bfloat16", family=MANY_SMALL),
        # for mistakes that show in few cases only
        heads_case(1, (2, 1), (1249, 57), 32, (32, 32), RAGGED, family="large"),
        heads_case(1, (4, 2), (3, 2), 128, (16, 64), {"SCALE": 0.75}, dtype="bfloat16", family="positive"),
        heads_case(1, (2, 1), (300, 16), 128, (32, 128), CAUSAL, family="sink", layout="strided"),
        heads_case(2, (2, 1), (1, 640), 128, (128, 64), CAUSAL, dtype="float16", family="rising", layout="transposed"),
        heads_case(2, (6, 2), (1, 1), 32, (64, 32), dtype="bfloat16", layout="strided"),
        # added for mistakes that only a GPU's larger cases had shown
        heads_case(1, (2, 2), (631, 20), 16, (64, 16)),
        heads_case(1, (1, 1), (70, 648), 16, (64, 16), CAUSAL, dtype="float16", family="one_way"),
        heads_case(2, (2, 1), (620, 640), 16, (16, 64), CAUSAL, dtype="bfloat16", family=MANY_SMALL),
        heads_case(1, (2, 1), (661, 19), 16, (16, 16), dtype="bfloat16", family=MANY_SMALL, layout="strided"),
        heads_case(2, (2, 2), (171, 150), 64, (32, 16), CAUSAL, dtype="float16", layout="transposed"),
        heads_case(
            3, (3, 1), (640, 20), 128, (64, 16), FULL_SCALED, dtype="bfloat16", family="positive", layout="strided"
        ),
        *gpu_cases(order),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=attention_gradients.scale,
    tolerance=attention_gradients.TOLERANCE,
    long=attention_heads.long(*STRIDED),
    film=FilmSpec(
        case=heads_case(1, (2, 1), (64, 64), 16, (16, 16), CAUSAL, family="rising"),
        diagram=attention_dkdv(),
        state={
            "dk": "gradient of the keys",
            "dv": "gradient of the values",
            "p": "weights of this tile",
            "ds": "dS of this tile",
        },
        choices={"N_Q": (32, 64), "N_KV": (32, 64, 80), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
    drawn=attention_gradients.drawn(order),
    parts=parts(*OUTPUTS),
)
