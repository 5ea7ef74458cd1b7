"""attention_dq: the gradient of queries. One program per tile of queries loops over the keys that it sees."""

from __future__ import annotations

from functools import partial

from checker.course import attention_values as values
from checker.course.attention import KEPT
from checker.course.attention_gradients import (
    GRADIENT_CASES,
    LONG_LOOPS,
    gradient,
    gradient_space,
    gradient_table,
    gradients,
    make,
    turned,
)
from checker.course.attention_heads import NEEDED, ONE_HEAD, PER_PROGRAM, PER_QUERY, parts, programs, visible_keys
from checker.course.diagrams import attention_dq
from checker.puzzle import Case, FilmSpec, Tensors


def reference(case: Case, inputs: Tensors) -> Tensors:
    return {"dq_ptr": gradients(case, inputs).dq}


PUZZLE = gradient(
    __file__,
    notebook="13_training",
    points=5,
    reads={
        **dict.fromkeys(("q", "do", "lse", "delta"), 1),
        **dict.fromkeys(("k", "v"), visible_keys),
        "key_lengths": programs,
    },
    writes={"dq": 1},
    because={
        **dict.fromkeys(("q", "do"), KEPT),
        **dict.fromkeys(("k", "v"), NEEDED),
        **dict.fromkeys(("lse", "delta"), PER_QUERY),
        "dq": "written once, at the end, and never read: weights and half-done rows stay on chip",
        "key_lengths": PER_PROGRAM,
    },
    make=partial(make, outputs=("dq_ptr",)),
    reference=reference,
    space=gradient_space(n_q=(67, 11), n_kv=(1301, 41_234), longest_tile=(16, 128)),
    cases=GRADIENT_CASES
    + turned(LONG_LOOPS)
    + gradient_table("""
        B  H_Q  H_KV  N_Q  N_KV  D    BLOCK_M  BLOCK_N  values           dtype     layout      flags                          why
        1  1    1     1    2     16   16       16
        1  1    1     37   2     16   16       16       -                -         strided     IS_CAUSAL
        1  1    1     20   53    16   16       16       vanishing_tile   -         -           -                              weights of 0 are no reason to stop
        1  2    1     20   32    16   16       16       opposite_values  -         -           -                              a Δ of 0 does not mean a gradient of 0
        1  3    1     32   17    128  64       16       ramp             -         -           IS_CAUSAL                      weights whose exponent has to be in float32
        1  1    1     1    661   16   16       16       many_small       float16   -           -                              more terms than a sum in 16 bits can hold
        1  1    1     1    661   32   16       16       many_small       bfloat16
        1  2    2     3    17    128  16       16       sunken           bfloat16  transposed  RAGGED=2 SCALE=0.69             kills scale_rounded_into_the_queries
        3  2    1     1    15    32   16       32       large            -         strided     IS_CAUSAL RAGGED=1
        1  2    1     37   53    16   16       16       sunken           -         -           IS_CAUSAL
    """),
    film=FilmSpec(
        case=Case(
            {**ONE_HEAD, "N_Q": 64, "N_KV": 64, "D": 16},
            {"BLOCK_M": 16, "BLOCK_N": 16},
            family=values.rising,
            flags={"IS_CAUSAL": True, "RAGGED": 0},
        ),
        diagram=attention_dq(),
        state={"dq": "gradient of the queries", "p": "weights of this tile", "ds": "dS of this tile"},
        choices={"N_Q": (32, 64), "N_KV": (32, 64, 80), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
    parts=parts("dq_ptr"),
)
