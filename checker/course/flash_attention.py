"""flash_attention: one head of attention, forward, without ever storing the matrix of scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from checker.authoring import puzzle
from checker.authoring.covering import Row
from checker.course.attention_cases import (
    SCALED,
    TOLERANCE,
    covered,
    drawn,
    scale_of_outputs,
    values_of,
)
from checker.course.attention_inputs import attention, queries_keys_values, running, scale_of
from checker.course.diagrams import attention as attention_diagram
from checker.course.family_words import case_of
from checker.course.tensors import stored
from checker.puzzle import CPU, DTYPES, GPU, Allowance, Case, FilmSpec, Launch, Long, Scalar, Tensors


def make(case: Case) -> Tensors:
    n_q, n_kv, d = case.sizes["N_Q"], case.sizes["N_KV"], case.sizes["D"]
    q, k, v = queries_keys_values(case, (n_q, d), (n_kv, d))
    return {
        # in a padded layout all four strides differ
        "q_ptr": stored(q, case),
        "k_ptr": stored(k, case, gap=21),
        "v_ptr": stored(v, case, gap=8),
        "o_ptr": stored(torch.zeros(n_q, d), case, gap=30),
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    o, _ = attention(inputs["q_ptr"], inputs["k_ptr"], inputs["v_ptr"], scale_of(case))
    return {"o_ptr": o}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    n_q, n_kv, d = case.sizes["N_Q"], case.sizes["N_KV"], case.sizes["D"]
    return Launch(
        grid=(-(-n_q // int(meta["BLOCK_M"])),),
        arguments={
            **{name: tensors[name] for name in ("q_ptr", "k_ptr", "v_ptr", "o_ptr")},
            "stride_qm": tensors["q_ptr"].stride(0),
            "stride_kn": tensors["k_ptr"].stride(0),
            "stride_vn": tensors["v_ptr"].stride(0),
            "stride_om": tensors["o_ptr"].stride(0),
            "scale": scale_of(case),
            "N_Q": n_q,
            "N_KV": n_kv,
        },
        meta={**meta, "D": d},
        outputs=("o_ptr",),
        options={"num_warps": 4, "num_stages": 2},
    )


def budget(case: Case) -> dict[str, Allowance]:
    itemsize = DTYPES[case.dtype].itemsize
    rows, keys = (case.sizes[name] * case.sizes["D"] * itemsize for name in ("N_Q", "N_KV"))
    tiles = -(-case.sizes["N_Q"] // case.meta["BLOCK_M"])
    once_a_tile = "every tile of queries walks over all keys and values once; a running maximum needs no second pass"
    return {
        "q_ptr": Allowance(rows, 0, "a tile of queries is loaded once and kept"),
        "k_ptr": Allowance(tiles * keys, 0, once_a_tile),
        "v_ptr": Allowance(tiles * keys, 0, once_a_tile),
        "o_ptr": Allowance(
            0,
            rows,
            "the output is written once, at the end, and never read: scores, weights and half-done rows stay on chip, and nothing of size N_Q × N_KV exists in memory",
        ),
    }


def _case(
    n_q: int, n_kv: int, d: int, block: tuple[int, int], flags: Mapping[str, Scalar] | None = None, **more: Any
) -> Case:
    flags = flags or {}
    meta = {"BLOCK_M": block[0], "BLOCK_N": block[1]}
    return case_of({"N_Q": n_q, "N_KV": n_kv, "D": d}, meta, flags=flags, **more)


def _from_row(row: Row, n_q: int, n_kv: int) -> Case:
    return _case(n_q, n_kv, row["d"], row["tile"], **values_of(row))


PUZZLE = puzzle(
    __file__,
    notebook="05_flash_attention",
    points=5,
    outputs=("o_ptr",),
    cases=(
        *covered(_from_row),
        _case(1, 1, 16, (16, 16)),
        _case(1, 90, 64, (16, 16), dtype="float16", family="score_pairs_in_sight"),
        _case(48, 80, 16, (32, 64)),  # 16 divides every size, a tile divides none
        _case(37, 1, 128, (16, 16), dtype="bfloat16", layout="padded"),
        _case(21, 83, 16, (16, 16), family="rare_keys", layout="padded"),
        _case(37, 70, 64, (32, 16), family="rare_keys", dtype="bfloat16"),
        _case(20, 11, 128, (64, 32), family="score_pairs_in_sight"),
        _case(270, 20, 16, (16, 16), family="score_pairs_in_sight"),
        _case(640, 32, 16, (64, 64), dtype="float16", family="positive"),
        _case(16, 445, 16, (16, 16), family="score_triples", flags=SCALED),
        _case(17, 577, 16, (16, 16), family="score_pairs_in_sight"),  # too many tiles of keys to unroll by hand
        _case(17, 577, 128, (16, 16), dtype="bfloat16", family="score_pairs", flags=SCALED),
        _case(5, 40_003, 16, (16, 256)),  # more keys than 16 bits can count
        _case(277, 649, 16, (16, 16), dtype="bfloat16", family="large", layout="padded"),
        _case(277, 211, 16, (16, 16), dtype="float16", family="large"),
        _case(1, 15, 128, (32, 16), dtype="bfloat16", family="large"),
        _case(5, 1, 16, (16, 16), family="extreme_scores"),
        # more terms than a sum in 16 bits can hold
        _case(2, 649, 64, (16, 16), dtype="float16", family="spike"),
        _case(2, 2083, 64, (64, 32), dtype="bfloat16", family="spike", layout="padded"),
        _case(9, 75, 16, (16, 16), family="extreme_scores"),
        _case(9, 75, 64, (16, 16), dtype="float16", family="extreme_scores"),
        _case(9, 75, 128, (16, 16), dtype="bfloat16", family="extreme_scores"),
        _case(5, 61, 16, (16, 16), family="vast_scores", devices=CPU),
        _case(5, 613, 16, (16, 16), family="creeping_scores"),
        _case(5, 413, 16, (16, 16), family="climbing_scores"),
        _case(5, 173, 16, (16, 16), dtype="float16", family="climbing_scores"),
        _case(7, 85, 16, (16, 16), family="nearly_level"),
        _case(7, 85, 16, (16, 16), family="one_way"),
        _case(7, 85, 16, (16, 16), family="blanks"),
        _case(9, 41, 16, (16, 16), family="near_overflow"),
        _case(9, 41, 64, (16, 16), dtype="float16", family="near_overflow"),
        _case(10, 605, 16, (16, 16), family="one_rise"),
        _case(10, 349, 16, (16, 16), dtype="float16", family="one_rise"),
        _case(5, 41, 16, (16, 16), dtype="float16", family="overflowing_scores", flags={"SCALE": 2.0**-12}),
        _case(3, 1103, 16, (16, 16), dtype="float16"),
        _case(19, 41, 16, (16, 16), family="constant"),
        _case(19, 263, 32, (32, 64), dtype="bfloat16", family="constant"),
        # for mistakes that show in few cases only
        _case(143, 640, 64, (128, 64), family="negative", layout="padded"),
        _case(65, 16, 64, (128, 128), family="score_pairs_in_sight", layout="padded"),
        _case(277, 65, 16, (16, 32), family="score_pairs_in_sight", layout="padded"),
        _case(27, 40, 32, (32, 64), dtype="bfloat16", family="score_pairs_in_sight", layout="padded"),
        _case(1000, 1031, 64, (64, 32), devices=GPU, family="score_pairs_in_sight"),
        _case(1024, 4096, 64, (128, 64), devices=GPU, dtype="float16"),
        _case(2053, 4099, 128, (64, 64), devices=GPU, dtype="bfloat16", family="score_pairs", flags=SCALED),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=scale_of_outputs,
    tolerance=TOLERANCE,
    long=(Long(("q_ptr", "k_ptr", "v_ptr", "o_ptr")),),
    film=FilmSpec(
        case=_case(48, 64, 16, (16, 16), family="ramp"),
        diagram=attention_diagram(running()),
        state={"m_i": "running max", "l_i": "running sum", "acc": "accumulator", "s": "scores of this tile"},
        choices={"N_Q": (32, 48, 70), "N_KV": (40, 64, 96), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
    drawn=drawn(_from_row),
)
