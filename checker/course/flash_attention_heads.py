"""flash_attention_heads: attention as models use it, with batches, heads, grouped K/V heads, causal masks, lengths, any layout."""

from __future__ import annotations

from collections.abc import Mapping

from checker.authoring import puzzle
from checker.course import attention_heads
from checker.course.attention_cases import SCALED, STATISTICS, TOLERANCE, covered, drawn, scale
from checker.course.attention_heads import (
    CAUSAL,
    CAUSAL_FULL,
    CAUSAL_RAGGED,
    FACTORS_OF_HEADS,
    FULL_SCALED,
    MIXED,
    RAGGED,
    heads_case,
    parts,
    sizes,
)
from checker.course.attention_inputs import running
from checker.course.diagrams import attention as attention_diagram
from checker.puzzle import CPU, GPU, Allowance, Case, FilmSpec, Launch, Part, Scalar, Tensors

OUTPUTS = ("o_ptr", "lse_ptr")


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    return attention_heads.launch(case, tensors, meta, OUTPUTS)


def budget(case: Case) -> dict[str, Allowance]:
    b, h_q, _, n_q, _, _ = sizes(case)
    programs = b * h_q * -(-n_q // case.meta["BLOCK_M"])
    return {
        **attention_heads.budget(case, needed="only the tiles that a query of the tile may see, each once"),
        "key_lengths_ptr": Allowance(programs * 4, 0, "one number a program"),
    }


PUZZLE = puzzle(
    __file__,
    notebook="07_attention_as_models_use_it",
    points=8,
    outputs=OUTPUTS,
    cases=(
        *covered(attention_heads.from_row, FACTORS_OF_HEADS, attention_heads.allowed),
        heads_case(1, (1, 1), (1, 1), 16, (16, 16)),
        heads_case(1, (3, 3), (5, 23), 16, (16, 16)),
        heads_case(3, (2, 1), (1, 90), 64, (16, 16), RAGGED, dtype="float16", family="score_pairs_in_sight"),
        heads_case(2, (2, 1), (1, 45), 128, (16, 16), CAUSAL, dtype="bfloat16", layout="transposed"),
        heads_case(2, (2, 1), (21, 83), 16, (16, 16), CAUSAL_RAGGED, layout="strided", family="rare_keys"),
        heads_case(2, (2, 2), (37, 70), 64, (32, 16), dtype="bfloat16", layout="transposed", family="rare_keys"),
        heads_case(2, (1, 1), (48, 80), 16, (32, 64), RAGGED),  # 16 divides every size, a tile divides none
        heads_case(1, (1, 1), (37, 1), 16, (16, 16), CAUSAL, layout="strided"),
        heads_case(1, (1, 1), (270, 20), 16, (16, 16), CAUSAL, family="score_pairs_in_sight"),
        heads_case(9, (2, 1), (5, 23), 16, (16, 16), CAUSAL_RAGGED, family="score_pairs_in_sight"),
        heads_case(1, (1, 1), (16, 445), 16, (16, 16), SCALED, family="score_triples"),
        # many tiles, many heads, and queries that see nothing
        heads_case(
            3, (6, 2), (130, 649), 16, (16, 16), CAUSAL_FULL, dtype="bfloat16", family="large", layout="strided"
        ),
        heads_case(2, (6, 3), (66, 655), 16, (16, 16), CAUSAL_RAGGED),
        heads_case(
            1, (1, 1), (5, 40_003), 16, (16, 256), CAUSAL, family="score_pairs_in_sight"
        ),  # more keys than 16 bits can count
        heads_case(3, (3, 1), (80, 640), 16, (16, 64), RAGGED, dtype="float16", layout="strided"),
        heads_case(
            2,
            (3, 1),
            (140, 112),
            16,
            (32, 16),
            CAUSAL_RAGGED,
            dtype="float16",
            family="score_pairs",
            layout="transposed",
        ),
        heads_case(3, (4, 2), (1, 15), 128, (32, 16), RAGGED, dtype="bfloat16", family="large"),
        # more terms than a sum in 16 bits can hold
        heads_case(1, (1, 1), (2, 649), 64, (16, 16), dtype="float16", family="spike"),
        heads_case(1, (1, 1), (2, 2083), 64, (64, 32), dtype="bfloat16", family="spike", layout="strided"),
        heads_case(1, (1, 1), (9, 75), 16, (16, 16), family="extreme_scores"),
        heads_case(1, (1, 1), (9, 75), 64, (16, 16), CAUSAL, dtype="float16", family="extreme_scores"),
        heads_case(1, (1, 1), (9, 75), 128, (16, 16), dtype="bfloat16", family="extreme_scores"),
        heads_case(1, (1, 1), (5, 61), 16, (16, 16), CAUSAL, family="vast_scores", devices=CPU),
        heads_case(1, (1, 1), (5, 613), 16, (16, 16), family="creeping_scores"),
        heads_case(1, (1, 1), (5, 413), 16, (16, 16), family="climbing_scores"),
        heads_case(1, (1, 1), (5, 173), 16, (16, 16), dtype="float16", family="climbing_scores"),
        heads_case(1, (1, 1), (21, 85), 16, (16, 16), CAUSAL, family="nearly_level"),
        heads_case(1, (1, 1), (7, 85), 16, (16, 16), family="one_way"),
        heads_case(1, (2, 1), (7, 85), 16, (16, 16), CAUSAL, family="blanks"),
        heads_case(
            1, (1, 1), (50, 40), 16, (64, 16), CAUSAL
        ),  # in one tile, one query sees nothing and another sees two tiles
        # more queries than keys in full tiles; one tile that begins with a query that sees nothing
        heads_case(
            3, (4, 2), (160, 48), 64, (32, 64), CAUSAL, dtype="float16", family="score_pairs_in_sight", layout="strided"
        ),
        heads_case(
            1, (2, 1), (17, 16), 16, (32, 16), CAUSAL, dtype="bfloat16", family="rare_keys", layout="transposed"
        ),
        heads_case(1, (2, 2), (31, 1), 32, (32, 64), CAUSAL, family="large", layout="transposed"),
        heads_case(2, (4, 2), (21, 37), 16, (16, 16), layout="roomy"),
        *(heads_case(2, (2, 1), (21, 37), 16, (16, 16), layout=layout) for layout in MIXED),
        heads_case(3, (2, 1), (21, 37), 32, (16, 32), CAUSAL, dtype="bfloat16", layout="transposed"),
        heads_case(1, (1, 1), (9, 41), 16, (16, 16), CAUSAL, family="near_overflow"),
        heads_case(1, (1, 1), (9, 41), 64, (16, 16), dtype="float16", family="near_overflow"),
        heads_case(1, (1, 1), (10, 605), 16, (16, 16), family="one_rise"),
        heads_case(1, (1, 1), (10, 349), 16, (16, 16), dtype="float16", family="one_rise"),
        heads_case(1, (1, 1), (5, 41), 16, (16, 16), {"SCALE": 2.0**-12}, dtype="float16", family="overflowing_scores"),
        heads_case(2, (41, 1), (3, 23), 16, (16, 16), RAGGED, dtype="float16"),  # 41 · (1 / 41) is below 1
        # more heads than a fixed limit would allow
        heads_case(1, (82, 2), (3, 23), 16, (16, 16), family="score_pairs_in_sight", layout="strided"),
        heads_case(1, (1, 1), (3, 1103), 16, (16, 16), dtype="float16"),
        heads_case(3, (1, 1), (19, 41), 16, (16, 16), RAGGED, family="constant"),
        heads_case(
            1, (1, 1), (5, 1), 16, (16, 16), family="constant"
        ),  # a sum of exactly 1: its logarithm is 0 and nothing else
        heads_case(1, (1, 1), (19, 263), 32, (32, 64), dtype="bfloat16", family="constant"),
        heads_case(1, (1, 1), (19, 263), 128, (32, 64), CAUSAL, dtype="float16", family="constant"),
        # for mistakes that show in few cases only
        heads_case(1, (4, 2), (32, 13), 16, (32, 32), FULL_SCALED, dtype="float16", family="score_pairs"),
        heads_case(1, (3, 1), (160, 129), 32, (128, 64), CAUSAL, dtype="bfloat16"),
        heads_case(1, (3, 1), (160, 129), 32, (128, 64), CAUSAL),
        heads_case(3, (3, 1), (2, 1), 16, (32, 16), CAUSAL, dtype="bfloat16", layout="strided"),
        heads_case(3, (1, 1), (17, 2), 16, (32, 64), CAUSAL_RAGGED, layout="strided"),
        heads_case(1, (8, 1), (61, 22), 16, (32, 32), CAUSAL_RAGGED | SCALED, layout="transposed"),
        heads_case(3, (3, 1), (48, 1), 16, (128, 32), RAGGED, family="constant", layout="strided"),
        heads_case(2, (3, 1), (20, 700), 16, (16, 64), CAUSAL_RAGGED, dtype="float16", layout="strided"),
        heads_case(1, (2, 2), (27, 9), 128, (32, 16), CAUSAL_RAGGED, dtype="float16", layout="strided"),
        heads_case(3, (3, 1), (64, 23), 16, (64, 32), CAUSAL, dtype="bfloat16", layout="strided"),
        heads_case(2, (3, 1), (277, 37), 16, (16, 16), CAUSAL_RAGGED, dtype="float16", layout="transposed"),
        # added for mistakes that only a GPU's larger cases had shown
        heads_case(2, (2, 2), (171, 150), 64, (32, 16), CAUSAL, dtype="float16", layout="transposed"),
        heads_case(1, (2, 1), (617, 609), 16, (64, 16), CAUSAL, dtype="bfloat16"),
        heads_case(1, (1, 1), (53, 620), 16, (16, 16), SCALED, dtype="bfloat16", family="score_pairs"),
        heads_case(2, (8, 2), (400, 431), 64, (64, 32), CAUSAL_RAGGED, devices=GPU, family="score_pairs_in_sight"),
        heads_case(2, (8, 8), (631, 577), 64, (64, 64), CAUSAL, devices=GPU, dtype="float16", layout="transposed"),
        heads_case(1, (8, 2), (1024, 1024), 128, (64, 64), CAUSAL, devices=GPU, dtype="bfloat16"),
        heads_case(
            3,
            (4, 1),
            (512, 2048),
            128,
            (64, 32),
            FULL_SCALED,
            devices=GPU,
            dtype="bfloat16",
            family="score_pairs",
            layout="strided",
        ),
    ),
    make=attention_heads.make,
    reference=attention_heads.reference,
    launch=launch,
    budget=budget,
    scale=scale,
    tolerance=TOLERANCE,
    output_tolerance={"lse_ptr": STATISTICS},
    long=attention_heads.long(*"qkvo"),
    film=FilmSpec(
        case=heads_case(1, (1, 1), (128, 128), 16, (32, 32), CAUSAL, family="ramp"),
        diagram=attention_diagram(running(attention_heads.visible_to_head, attention_heads.key_head), ("lse_ptr",)),
        state={"m_i": "running max", "l_i": "running sum", "acc": "accumulator", "s": "scores of this tile"},
        choices={"N_Q": (64, 128), "N_KV": (64, 128, 160), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
    drawn=drawn(attention_heads.from_row, FACTORS_OF_HEADS, attention_heads.allowed),
    parts=(*parts("o_ptr"), Part("lse", "the log-sum-exp", lambda case: True, OUTPUTS)),
)
