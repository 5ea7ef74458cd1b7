"""attention_dq: the gradient of queries. One program per tile of queries walks over the keys that it sees."""

from __future__ import annotations

from collections.abc import Mapping

from checker.authoring import puzzle
from checker.course import attention_gradients, attention_heads
from checker.course.attention_gradients import MANY_SMALL, every_pair, gpu_cases, gradients, shared_cases
from checker.course.attention_heads import (
    CAUSAL,
    CAUSAL_FULL,
    CAUSAL_RAGGED,
    FULL,
    FULL_SCALED,
    RAGGED,
    heads_case,
    parts,
    sizes,
)
from checker.course.diagrams import attention_dq
from checker.puzzle import DTYPES, Allowance, Case, FilmSpec, Launch, Scalar, Tensors

OUTPUTS = ("dq_ptr",)
STRIDED = ("q", "k", "v", "do", "dq")


def order(walked: int, shared: int) -> tuple[int, int]:
    """(N_Q, N_KV) or (BLOCK_M, BLOCK_N): a program walks over keys, and programs share the queries."""
    return (shared, walked)


def make(case: Case) -> Tensors:
    return attention_gradients.make(case, OUTPUTS)


def reference(case: Case, inputs: Tensors) -> Tensors:
    return {"dq_ptr": gradients(case, inputs).dq}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    return attention_heads.launch(case, tensors, meta, OUTPUTS)


def budget(case: Case) -> dict[str, Allowance]:
    b, h_q, _, n_q, _, d = sizes(case)
    row, keys = d * DTYPES[case.dtype].itemsize, attention_heads.keys_loaded(case)
    queries, programs = b * h_q * n_q, b * h_q * -(-n_q // case.meta["BLOCK_M"])
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


PUZZLE = puzzle(
    __file__,
    notebook="09_two_loops_back",
    points=5,
    outputs=OUTPUTS,
    cases=(
        *every_pair(),
        heads_case(1, (1, 1), (1, 2), 16, (16, 16)),
        heads_case(1, (3, 3), (5, 23), 16, (16, 16)),
        heads_case(2, (2, 1), (21, 83), 16, (16, 16), CAUSAL_RAGGED, layout="strided", family="rare_keys"),
        heads_case(2, (2, 2), (37, 70), 64, (32, 16), dtype="bfloat16", layout="transposed", family="rare_keys"),
        heads_case(2, (1, 1), (48, 80), 16, (32, 64), RAGGED),  # 16 divides every size, a tile divides none
        heads_case(1, (1, 1), (37, 2), 16, (16, 16), CAUSAL, layout="strided"),
        heads_case(1, (1, 1), (270, 20), 16, (16, 16), CAUSAL, family="negative"),
        heads_case(9, (2, 1), (5, 23), 16, (16, 16), CAUSAL_RAGGED, family="negative"),
        # more heads than a fixed limit would allow
        heads_case(1, (82, 2), (3, 5), 16, (16, 16), dtype="float16", layout="strided"),
        *shared_cases(order),
        # weights of 0 are no reason to stop, and a Δ of 0 is none for a gradient of 0
        heads_case(1, (1, 1), (20, 53), 16, (16, 16), family="vanishing_tile"),
        heads_case(1, (2, 1), (20, 32), 16, (16, 16), family="opposite_values"),
        # weights whose exponent has to be in float32
        heads_case(1, (3, 1), (32, 17), 128, (64, 16), CAUSAL, family="ramp"),
        # more terms than a sum in 16 bits can hold
        heads_case(1, (1, 1), (1, 661), 16, (16, 16), dtype="float16", family=MANY_SMALL),
        heads_case(1, (1, 1), (1, 661), 32, (16, 16), dtype="bfloat16", family=MANY_SMALL),
        # for mistakes that show in few cases only
        heads_case(
            1, (6, 2), (28, 23), 16, (32, 32), CAUSAL_RAGGED, dtype="float16", family="large", layout="transposed"
        ),
        heads_case(
            1,
            (6, 2),
            (28, 49),
            128,
            (32, 32),
            CAUSAL_FULL | {"SCALE": 0.54},
            dtype="float16",
            family="positive",
            layout="transposed",
        ),
        heads_case(
            1,
            (2, 2),
            (3, 17),
            128,
            (16, 16),
            FULL | {"SCALE": 0.69},
            dtype="bfloat16",
            family="negative",
            layout="transposed",
        ),
        heads_case(3, (2, 1), (1, 15), 32, (16, 32), CAUSAL_RAGGED, family="large", layout="strided"),
        heads_case(1, (2, 1), (57, 1254), 32, (32, 32), RAGGED, dtype="float16", family="negative"),
        heads_case(1, (2, 1), (37, 53), 16, (16, 16), CAUSAL, family="sunken"),
        # added for mistakes that only a GPU's larger cases had shown
        heads_case(2, (2, 2), (171, 150), 64, (32, 16), CAUSAL, dtype="float16", layout="transposed"),
        heads_case(1, (4, 2), (53, 641), 16, (16, 16), CAUSAL, dtype="bfloat16"),
        heads_case(2, (2, 1), (150, 151), 16, (16, 16), CAUSAL_RAGGED, family="negative"),
        heads_case(
            3, (3, 1), (20, 1088), 128, (16, 64), FULL_SCALED, dtype="bfloat16", family="positive", layout="strided"
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
        case=heads_case(1, (1, 1), (64, 64), 16, (16, 16), CAUSAL, family="rising"),
        diagram=attention_dq(),
        state={"dq": "gradient of the queries", "p": "weights of this tile", "ds": "dS of this tile"},
        choices={"N_Q": (32, 64), "N_KV": (32, 64, 80), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
    drawn=attention_gradients.drawn(order),
    parts=parts(*OUTPUTS),
)
