"""flash_attention_fast: attention over heads, causal or not, with tensor descriptors; made fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from checker.authoring import puzzle
from checker.authoring.covering import Row
from checker.course import attention_heads
from checker.course.attention_cases import SCALED, STATISTICS, TOLERANCE, covered, drawn, scale
from checker.course.attention_heads import CAUSAL, FACTORS_OF_HEADS, heads_case, parts
from checker.course.attention_inputs import running
from checker.course.diagrams import attention as attention_diagram
from checker.puzzle import CPU, GPU, Allowance, Case, FilmSpec, Launch, Part, Scalar, Tensors

OUTPUTS = ("o_ptr", "lse_ptr")
_ALWAYS_1 = ("stride_qd", "stride_kd", "stride_vd", "stride_od")
"""Strides that the kernel does not get: a tensor descriptor needs the numbers of a row side by side."""


def make(case: Case) -> Tensors:
    tensors = attention_heads.make(case)
    del tensors["key_lengths_ptr"]
    return tensors


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    bound = attention_heads.launch(case, tensors, meta, OUTPUTS)
    return replace(bound, arguments={name: x for name, x in bound.arguments.items() if name not in _ALWAYS_1})


def budget(case: Case) -> dict[str, Allowance]:
    needed = "only the tiles that a query of the tile may see, each once: in one of the two loops, not in both"
    return attention_heads.budget(case, needed)


_FACTORS = {**FACTORS_OF_HEADS, "layout": ("apart", "transposed", "contiguous")}
del _FACTORS["ragged"]


def _without_ragged(flags: Mapping[str, Scalar]) -> dict[str, Scalar]:
    return {name: value for name, value in flags.items() if name != "RAGGED"}


def _case(*sizes: Any, **more: Any) -> Case:
    """`heads_case` without the flag RAGGED: every batch has all keys."""
    case = heads_case(*sizes, **more)
    return replace(case, flags=_without_ragged(case.flags))


def _from_row(row: Row, n_q: int, n_kv: int) -> Case:
    case = attention_heads.from_row(row, n_q, n_kv)
    return replace(case, flags=_without_ragged(case.flags))


_HEADS, _GROUPS, _CAUSAL, _ = parts("o_ptr")

PUZZLE = puzzle(
    __file__,
    notebook="13_fast",
    points=8,
    outputs=OUTPUTS,
    cases=(
        *covered(_from_row, _FACTORS, attention_heads.allowed),
        _case(1, (1, 1), (1, 1), 16, (16, 16)),
        _case(1, (3, 3), (5, 23), 16, (16, 16)),
        _case(3, (2, 1), (1, 90), 64, (16, 16), dtype="float16", family="score_pairs_in_sight"),
        _case(2, (2, 1), (1, 45), 128, (16, 16), CAUSAL, dtype="bfloat16", layout="transposed"),
        _case(2, (2, 1), (21, 83), 16, (16, 16), CAUSAL, layout="apart", family="rare_keys"),
        _case(2, (2, 2), (37, 70), 64, (32, 16), dtype="bfloat16", layout="transposed", family="rare_keys"),
        # where the loop without a mask ends: at every place of the diagonal in a tile, before the first key, and never
        _case(1, (2, 2), (64, 64), 16, (16, 16), CAUSAL),
        _case(1, (2, 1), (64, 71), 16, (32, 16), CAUSAL, layout="apart"),
        _case(1, (1, 1), (34, 48), 16, (16, 16), CAUSAL, dtype="bfloat16"),
        _case(1, (1, 1), (48, 65), 16, (16, 32), CAUSAL, dtype="float16", family="score_pairs"),
        _case(2, (2, 2), (66, 31), 16, (16, 16), CAUSAL, dtype="float16", layout="transposed"),
        _case(1, (1, 1), (270, 20), 16, (16, 16), CAUSAL, family="score_pairs_in_sight"),
        _case(1, (1, 1), (37, 1), 16, (16, 16), CAUSAL, layout="apart"),
        _case(2, (1, 1), (48, 80), 16, (32, 64)),  # 16 divides every size, a tile divides none
        _case(1, (1, 1), (32, 64), 32, (16, 32), dtype="bfloat16", layout="apart"),  # nothing is left for the mask
        _case(1, (1, 1), (16, 445), 16, (16, 16), SCALED, family="score_triples"),
        # many tiles, many heads
        _case(1, (4, 2), (50, 649), 16, (16, 16), CAUSAL, dtype="bfloat16", family="large", layout="apart"),
        _case(1, (3, 3), (34, 655), 16, (16, 16), CAUSAL),
        _case(
            1, (1, 1), (5, 40_003), 16, (16, 256), CAUSAL, family="score_pairs_in_sight"
        ),  # more keys than 16 bits can count
        _case(2, (3, 1), (80, 640), 16, (16, 64), dtype="float16", layout="apart"),
        _case(2, (3, 1), (140, 112), 16, (32, 16), CAUSAL, dtype="float16", family="score_pairs", layout="transposed"),
        # more terms than a sum in 16 bits can hold
        _case(1, (1, 1), (2, 649), 64, (16, 16), dtype="float16", family="spike"),
        _case(1, (1, 1), (2, 2083), 64, (64, 32), dtype="bfloat16", family="spike", layout="apart"),
        _case(1, (1, 1), (9, 75), 16, (16, 16), family="extreme_scores"),
        _case(1, (1, 1), (9, 75), 64, (16, 16), CAUSAL, dtype="float16", family="extreme_scores"),
        _case(1, (1, 1), (9, 75), 128, (16, 16), dtype="bfloat16", family="extreme_scores"),
        _case(1, (1, 1), (5, 61), 16, (16, 16), CAUSAL, family="vast_scores", devices=CPU),
        _case(1, (1, 1), (5, 613), 16, (16, 16), family="creeping_scores"),
        _case(1, (1, 1), (5, 413), 16, (16, 16), family="climbing_scores"),
        _case(1, (1, 1), (5, 173), 16, (16, 16), dtype="float16", family="climbing_scores"),
        _case(1, (1, 1), (21, 85), 16, (16, 16), CAUSAL, family="nearly_level"),
        _case(1, (1, 1), (7, 85), 16, (16, 16), family="one_way"),
        _case(1, (2, 1), (7, 85), 16, (16, 16), CAUSAL, family="blanks"),
        _case(
            1, (1, 1), (50, 40), 16, (64, 16), CAUSAL
        ),  # in one tile, one query sees nothing and another sees two tiles
        _case(2, (4, 2), (21, 37), 16, (16, 16), layout="roomy"),
        _case(3, (2, 1), (21, 37), 32, (16, 32), CAUSAL, dtype="bfloat16", layout="transposed"),
        _case(1, (1, 1), (9, 41), 16, (16, 16), CAUSAL, family="near_overflow"),
        _case(1, (1, 1), (9, 41), 64, (16, 16), dtype="float16", family="near_overflow"),
        _case(1, (1, 1), (10, 605), 16, (16, 16), family="one_rise"),
        _case(1, (1, 1), (10, 349), 16, (16, 16), dtype="float16", family="one_rise"),
        _case(1, (1, 1), (5, 41), 16, (16, 16), {"SCALE": 2.0**-12}, dtype="float16", family="overflowing_scores"),
        _case(1, (82, 2), (3, 5), 16, (16, 16)),  # more heads than a fixed limit would allow
        _case(1, (1, 1), (3, 1103), 16, (16, 16), dtype="float16"),
        _case(3, (1, 1), (19, 41), 16, (16, 16), family="constant"),
        _case(1, (1, 1), (5, 1), 16, (16, 16), family="constant"),  # a sum of exactly 1: its logarithm is 0
        _case(1, (1, 1), (19, 263), 32, (32, 64), dtype="bfloat16", family="constant"),
        _case(1, (1, 1), (19, 263), 128, (32, 64), CAUSAL, dtype="float16", family="constant"),
        _case(3, (3, 1), (64, 23), 16, (64, 32), CAUSAL, dtype="bfloat16", layout="apart"),
        # many tiles of queries, few keys for them; groups of each size beside each dtype, tile and edge
        _case(1, (4, 2), (299, 33), 16, (16, 16), SCALED, family="large", layout="apart"),
        _case(1, (2, 2), (299, 280), 16, (16, 16), CAUSAL),
        _case(1, (4, 2), (130, 519), 32, (64, 32), CAUSAL, dtype="float16", family="score_pairs"),
        _case(2, (4, 2), (48, 640), 32, (32, 64), CAUSAL, dtype="bfloat16", family="rare_keys", layout="apart"),
        _case(1, (8, 1), (44, 72), 32, (32, 64), CAUSAL, dtype="bfloat16", family="rare_keys"),
        _case(1, (1, 1), (103, 65), 16, (32, 64), CAUSAL, dtype="bfloat16", family="rare_keys"),
        _case(2, (2, 2), (64, 17), 64, (16, 16), CAUSAL, dtype="float16", family="extreme_scores"),
        _case(2, (1, 1), (143, 16), 64, (32, 64), CAUSAL),
        _case(1, (6, 2), (143, 17), 16, (16, 64), dtype="float16", family="extreme_scores"),
        _case(1, (4, 2), (90, 1), 128, (64, 32), family="large"),
        _case(3, (2, 2), (49, 5), 128, (32, 16), CAUSAL, dtype="float16", family="large", layout="apart"),
        _case(1, (4, 2), (1, 71), 16, (16, 16)),
        _case(1, (4, 2), (27, 3), 16, (16, 16), CAUSAL, dtype="float16", layout="transposed"),
        _case(2, (4, 2), (143, 144), 64, (16, 16), CAUSAL, dtype="float16", family="extreme_scores", layout="apart"),
        _case(1, (4, 2), (65, 65), 64, (64, 32), dtype="bfloat16", family="rare_keys"),
        _case(2, (8, 2), (400, 431), 64, (64, 32), CAUSAL, devices=GPU, family="score_pairs_in_sight"),
        _case(2, (8, 8), (631, 577), 64, (64, 64), CAUSAL, devices=GPU, dtype="float16", layout="transposed"),
        _case(1, (8, 2), (1024, 1024), 128, (64, 64), CAUSAL, devices=GPU, dtype="bfloat16"),
        _case(
            3,
            (4, 1),
            (512, 2048),
            128,
            (64, 32),
            SCALED,
            devices=GPU,
            dtype="bfloat16",
            family="score_pairs",
            layout="apart",
        ),
        # lengths without convenient divisors
        *(
            _case(1, (2, 2), (n, n), 64, (64, 128), {"IS_CAUSAL": causal}, devices=GPU, dtype="float16")
            for n in (17, 1000, 4097)
            for causal in (True, False)
        ),
    ),
    make=make,
    reference=attention_heads.reference,
    launch=launch,
    budget=budget,
    scale=scale,
    tolerance=TOLERANCE,
    output_tolerance={"lse_ptr": STATISTICS},
    long=attention_heads.long(*"qkvo"),
    film=FilmSpec(
        case=_case(1, (1, 1), (128, 128), 16, (32, 32), CAUSAL, family="ramp"),
        diagram=attention_diagram(running(attention_heads.visible_to_head, attention_heads.key_head), ("lse_ptr",)),
        state={"m_i": "running max", "l_i": "running sum", "acc": "accumulator", "s": "scores of this tile"},
        choices={"N_Q": (64, 128), "N_KV": (64, 128, 160), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
    drawn=drawn(_from_row, _FACTORS, attention_heads.allowed),
    parts=(
        replace(_HEADS, asks="several heads and texts"),
        *(_GROUPS, _CAUSAL),
        Part("nothing", "queries that see nothing", lambda case: True, ("o_ptr",)),
        Part("lse", "the log-sum-exp in base e", lambda case: True, OUTPUTS),
    ),
)
