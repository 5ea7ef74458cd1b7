"""flash_attention_v1: the loop order of the first FlashAttention paper, state kept in global memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from checker.authoring import puzzle
from checker.authoring.covering import Row
from checker.course.attention_cases import (
    FACTORS,
    SCALED,
    STATISTICS,
    TILES_OF_KEYS,
    TOLERANCE,
    covered,
    drawn,
    scale,
    values_of,
)
from checker.course.attention_inputs import attention, queries_keys_values, running, scale_of
from checker.course.diagrams import attention as attention_diagram
from checker.course.family_words import case_of
from checker.course.tensors import stored
from checker.puzzle import CPU, DTYPES, GPU, Allowance, Case, FilmSpec, Launch, Long, Scalar, Tensors


def make(case: Case) -> Tensors:
    h, n_q, n_kv, d = (case.sizes[name] for name in ("H", "N_Q", "N_KV", "D"))
    q, k, v = queries_keys_values(case, (h, n_q, d), (h, n_kv, d))
    # q and o share their strides, and so do k and v
    return {
        "q_ptr": _stored(q, case, 13),
        "k_ptr": _stored(k, case, 21),
        "v_ptr": _stored(v, case, 21),
        "o_ptr": _stored(torch.zeros(h, n_q, d), replace(case, dtype="float32"), 13),
        "m_ptr": torch.zeros(h, n_q, dtype=torch.float32),
        "l_ptr": torch.zeros(h, n_q, dtype=torch.float32),
    }


def _stored(x: torch.Tensor, case: Case, gap: int) -> torch.Tensor:
    """`x` [H, N, D] in the case's dtype and layout.

    In a padded layout the head stride is the larger one, with a gap after each head. An interleaved one lies as [N, H, D] in memory.
    """
    h, n, d = x.shape
    if case.layout == "interleaved":
        wide = torch.full((n, h, d + gap), torch.nan, dtype=DTYPES[case.dtype])
        return wide[..., :d].transpose(0, 1).copy_(x)
    rows = stored(x, case, gap)
    if case.layout != "padded":
        return rows
    row, head = rows.stride(1), (n + 2) * rows.stride(1) + 5
    wide = torch.full((h * head,), torch.nan, dtype=rows.dtype)
    return torch.as_strided(wide, (h, n, d), (head, row, 1)).copy_(rows)


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Dao et al. 2022 (FlashAttention), algorithm 1: O, and for each query the maximum m and the sum l of exp(s - m)."""
    q, k, v, scale = inputs["q_ptr"], inputs["k_ptr"], inputs["v_ptr"], scale_of(case)
    o, _ = attention(q, k, v, scale)
    m, l = torch.empty_like(o[..., 0]), torch.empty_like(o[..., 0])
    for head in range(q.shape[0]):  # one after another, as in `attention`
        s = (q[head] @ k[head].T) * scale
        m[head] = s.amax(dim=-1)
        l[head] = torch.exp(s - m[head, :, None]).sum(dim=-1)
    return {"o_ptr": o, "m_ptr": m, "l_ptr": l}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    q, k = tensors["q_ptr"], tensors["k_ptr"]
    return Launch(
        grid=(case.sizes["H"],),
        arguments={
            **{name: tensors[name] for name in ("q_ptr", "k_ptr", "v_ptr", "o_ptr", "m_ptr", "l_ptr")},
            "stride_qh": q.stride(0),
            "stride_kh": k.stride(0),
            "stride_qm": q.stride(1),
            "stride_kn": k.stride(1),
            "scale": scale_of(case),
            "N_Q": case.sizes["N_Q"],
            "N_KV": case.sizes["N_KV"],
        },
        meta={**meta, "D": case.sizes["D"]},
        outputs=("o_ptr", "m_ptr", "l_ptr"),
        options={"num_warps": 4, "num_stages": 1},
    )


def budget(case: Case) -> dict[str, Allowance]:
    """Dao et al. 2022, theorem 2: K and V once, Q and O once for every tile of keys."""
    h, n_q, n_kv, d = (case.sizes[name] for name in ("H", "N_Q", "N_KV", "D"))
    itemsize, tiles = DTYPES[case.dtype].itemsize, -(-n_kv // case.meta["BLOCK_N"])
    keys, queries, output, rows = h * n_kv * d * itemsize, h * n_q * d * itemsize, h * n_q * d * 4, h * n_q * 4
    back, forth = "loaded at every visit but the first", "stored at every visit"
    return {
        "q_ptr": Allowance(tiles * queries, 0, "all queries pass by for every tile of keys"),
        "k_ptr": Allowance(keys, 0, "a tile of keys is loaded once"),
        "v_ptr": Allowance(keys, 0, "a tile of values is loaded once"),
        "o_ptr": Allowance((tiles - 1) * output, tiles * output, f"{back}, {forth}"),
        "m_ptr": Allowance((tiles - 1) * rows, tiles * rows, f"{back}, {forth}"),
        "l_ptr": Allowance((tiles - 1) * rows, tiles * rows, f"{back}, {forth}"),
    }


def _case(
    h: int, n_q: int, n_kv: int, d: int, block: tuple[int, int], flags: Mapping[str, Scalar] | None = None, **more: Any
) -> Case:
    flags = flags or {}
    meta = {"BLOCK_M": block[0], "BLOCK_N": block[1]}
    return case_of({"H": h, "N_Q": n_q, "N_KV": n_kv, "D": d}, meta, flags=flags, **more)


def _from_row(row: Row, n_q: int, n_kv: int) -> Case:
    return _case(row["heads"], n_q, n_kv, row["d"], row["tile"], **values_of(row))


_FACTORS = {"heads": (1, 2, 3), **FACTORS, "layout": ("padded", "contiguous", "interleaved")}


def _allowed(row: Row) -> bool:
    """Leaves out cases of many heads and many tiles, which take long."""
    return row["heads"] == 1 or (row["family"] not in TILES_OF_KEYS)


PUZZLE = puzzle(
    __file__,
    notebook="06_other_loop_order",
    points=3,
    outputs=("o_ptr", "m_ptr", "l_ptr"),
    cases=(
        *covered(_from_row, _FACTORS, _allowed),
        _case(1, 1, 1, 16, (16, 16)),
        _case(2, 1, 45, 64, (16, 16), dtype="float16", family="score_pairs_in_sight"),
        _case(1, 48, 80, 16, (32, 64)),  # 16 divides every size, a tile divides none
        _case(3, 20, 1, 128, (16, 16), dtype="bfloat16", layout="padded"),
        _case(2, 21, 83, 16, (16, 16), family="rare_keys", layout="padded"),
        _case(2, 37, 70, 64, (32, 16), family="rare_keys", dtype="bfloat16"),
        _case(17, 5, 7, 16, (16, 16), family="score_pairs_in_sight"),
        _case(1, 270, 20, 16, (16, 16), family="score_pairs_in_sight"),
        _case(1, 640, 16, 64, (16, 32), family="score_pairs_in_sight"),
        _case(1, 16, 445, 16, (16, 16), family="score_triples", flags=SCALED),
        _case(5, 17, 577, 16, (16, 16), family="score_pairs_in_sight"),  # too many tiles of keys to unroll by hand
        _case(2, 5, 577, 128, (16, 16), dtype="bfloat16", family="score_pairs", flags=SCALED),
        _case(1, 5, 40_003, 16, (16, 256), family="score_pairs_in_sight"),  # more keys than 16 bits can count
        _case(3, 37, 643, 16, (16, 64), dtype="float16", family="large", layout="padded"),
        _case(5, 37, 71, 16, (16, 16), dtype="bfloat16", family="large", layout="padded"),
        # more terms than a sum in 16 bits can hold
        _case(1, 2, 649, 64, (16, 16), dtype="float16", family="spike"),
        _case(1, 2, 2083, 64, (64, 32), dtype="bfloat16", family="spike", layout="padded"),
        _case(1, 9, 75, 16, (16, 16), family="extreme_scores"),
        _case(1, 9, 75, 64, (16, 16), dtype="float16", family="extreme_scores"),
        _case(1, 9, 75, 128, (16, 16), dtype="bfloat16", family="extreme_scores"),
        _case(1, 5, 61, 16, (16, 16), family="vast_scores", devices=CPU),
        _case(1, 5, 597, 16, (16, 16), family="creeping_scores"),
        _case(1, 5, 413, 16, (16, 16), family="climbing_scores"),
        _case(1, 5, 173, 16, (16, 16), dtype="float16", family="climbing_scores"),
        _case(1, 7, 85, 16, (16, 16), family="nearly_level"),
        _case(1, 7, 85, 16, (16, 16), family="one_way"),
        _case(2, 7, 85, 16, (16, 16), family="blanks"),
        _case(1, 9, 41, 16, (16, 16), family="near_overflow"),
        _case(1, 9, 41, 64, (16, 16), dtype="float16", family="near_overflow"),
        _case(1, 10, 605, 16, (16, 16), family="one_rise"),
        _case(1, 10, 349, 16, (16, 16), dtype="float16", family="one_rise"),
        _case(1, 5, 41, 16, (16, 16), dtype="float16", family="overflowing_scores", flags={"SCALE": 2.0**-12}),
        _case(3, 21, 37, 16, (16, 16), layout="interleaved"),
        _case(1, 3, 1103, 16, (16, 16), dtype="float16"),
        _case(1, 19, 41, 16, (16, 16), family="constant"),
        _case(1, 19, 263, 32, (32, 64), dtype="bfloat16", family="constant"),
        # for mistakes that show in few cases only
        _case(2, 40, 640, 16, (64, 16), dtype="bfloat16", family="score_pairs", layout="interleaved", seed=1),
        _case(3, 20, 33, 128, (16, 16), dtype="float16"),
        _case(1, 143, 640, 64, (128, 64), family="negative", layout="padded", seed=1),
        _case(3, 65, 16, 64, (128, 128), family="score_pairs_in_sight", layout="padded"),
        _case(6, 70, 75, 16, (32, 16), family="score_pairs_in_sight"),  # another height, in more programs than four
        _case(64, 258, 259, 64, (64, 32), devices=GPU, family="score_pairs_in_sight"),
        _case(132, 200, 260, 64, (32, 64), devices=GPU, dtype="float16"),
        _case(8, 777, 1024, 128, (64, 64), devices=GPU, dtype="bfloat16", family="score_pairs", flags=SCALED),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=scale,
    tolerance=TOLERANCE,
    output_tolerance={"m_ptr": STATISTICS, "l_ptr": STATISTICS},
    long=(
        Long(("q_ptr", "k_ptr", "v_ptr", "o_ptr"), "head"),
        Long(("q_ptr", "o_ptr"), "query", (1,)),
        Long(("k_ptr", "v_ptr"), "key", (1,)),
    ),
    film=FilmSpec(
        case=_case(1, 48, 64, 16, (16, 16), family="ramp"),
        diagram=attention_diagram(
            running(names=("m_new", "l_new"), in_memory=True), ("m_ptr", "l_ptr"), accumulator=("o", "acc")
        ),
        state={"m_i": "running max", "l_i": "running sum", "acc": "output times its sum", "s": "scores of this tile"},
        choices={"N_Q": (32, 48, 70), "N_KV": (40, 64, 96), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
    drawn=drawn(_from_row, {**_FACTORS, "heads": (1, 2, 3, 5)}),
)
