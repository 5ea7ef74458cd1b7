"""linear_chunk_states: what each chunk of tokens adds to the state, all chunks at once."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from checker.authoring import puzzle
from checker.course.diagrams import linear
from checker.course.linear_cases import chunked_case, drawn, shared_cases
from checker.course.linear_causal import chunks, launch_chunks, sizes
from checker.course.linear_inputs import (
    OUTPUT_TOLERANCE,
    TOLERANCE,
    feature_map,
    magnitude,
    queries_keys_values,
    rows,
    slices,
)
from checker.puzzle import GPU, Allowance, Case, FilmSpec, Launch, Long, Many, Scalar, Tensors


def make(case: Case) -> Tensors:
    b, h, n, d, d_v = sizes(case)
    _, k, v = queries_keys_values(case, (b, h, n, d), (b, h, n, d), d_v)
    return {
        "k_ptr": k,
        "v_ptr": v,
        "s_ptr": torch.zeros(b, h, chunks(case), d, d_v),
        "z_ptr": torch.zeros(b, h, chunks(case), d),
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    chunks_k, chunks_v = (inputs[name].split(case.meta["CHUNK"], dim=-2) for name in ("k_ptr", "v_ptr"))
    features = [feature_map(k) for k in chunks_k]
    return {
        "s_ptr": torch.stack([k.mT @ v for k, v in zip(features, chunks_v, strict=True)], dim=2),
        "z_ptr": torch.stack([k.sum(dim=-2) for k in features], dim=2),
    }


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    return launch_chunks(case, tensors, meta, {"k": "hn", "v": "hn"}, outputs=("s_ptr", "z_ptr"))


def budget(case: Case) -> dict[str, Allowance]:
    b, h, n, d, d_v = sizes(case)
    return {
        "k_ptr": Allowance(slices(case) * rows(case, n, d), 0, "each program reads its chunk of keys once"),
        "v_ptr": Allowance(rows(case, n, d_v), 0, "every value is read once"),
        "s_ptr": Allowance(0, b * h * chunks(case) * d * d_v * 4, "one state for each chunk"),
        "z_ptr": Allowance(0, b * h * chunks(case) * d * 4, "one sum of features for each chunk"),
    }


PUZZLE = puzzle(
    __file__,
    notebook="12_few_heads",
    points=3,
    outputs=("s_ptr", "z_ptr"),
    cases=(
        *shared_cases(past=(None,)),
        chunked_case(1, 3, 130, (128, 72), (32, 64)),  # 46,608 heads of so many states pass 2³¹
        # for mistakes that show in few cases only
        chunked_case(1, 1, 1111, (16, 31), (16, 16), layout="padded"),  # more than 64 chunks
        chunked_case(1, 1, 4500, (16, 16), (64, 16), layout="padded"),
        chunked_case(1, 1, 1300, (128, 106), (64, 64), dtype="float16", family="contributions", layout="transposed"),
        chunked_case(2, 1, 32, (32, 33), (16, 16), family="warm", layout="padded"),
        chunked_case(2, 3, 31, (32, 40), (64, 16), dtype="float16", family="outlier"),
        chunked_case(1, 1, 129, (16, 24), (64, 32), dtype="float16", family="outlier", layout="padded"),
        chunked_case(2, 1, 15, (32, 33), (16, 16), dtype="bfloat16", family="outlier", layout="padded"),
        chunked_case(2, 1, 640, (16, 12), (16, 32), dtype="bfloat16", family="contributions", layout="padded"),
        chunked_case(1, 1, 217, (128, 29), (64, 64), dtype="float16", family="contributions"),
        chunked_case(2, 1, 198, (128, 63), (64, 32), dtype="bfloat16", family="contributions", layout="transposed"),
        chunked_case(1, 1, 132, (128, 87), (32, 64), dtype="float16", family="outlier", layout="transposed"),
        # added for mistakes that only a GPU's larger cases had shown
        chunked_case(2, 3, 631, (16, 40), (32, 16), layout="padded", family="growing"),
        chunked_case(1, 2, 299, (128, 32), (64, 16), dtype="float16", family="huge"),
        chunked_case(2, 3, 1031, (64, 80), (32, 32), devices=GPU, layout="padded", family="growing"),
        chunked_case(1, 4, 16_384, (64, 64), (64, 64), devices=GPU, dtype="bfloat16"),
        chunked_case(1, 2, 16_384, (64, 64), (64, 64), devices=GPU),
        chunked_case(1, 2, 16_369, (128, 128), (64, 64), devices=GPU, dtype="float16", family="huge"),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=magnitude,
    tolerance=TOLERANCE,
    output_tolerance=OUTPUT_TOLERANCE,
    many=(Many(("k_ptr", "v_ptr", "s_ptr", "z_ptr"), "H", "head", axis=1, grid=1, first=None),),
    long=(Long(("k_ptr", "v_ptr"), "head", (0, 1)), Long(("k_ptr", "v_ptr"), "token", (2,))),
    film=FilmSpec(
        case=chunked_case(1, 1, 56, (16, 16), (16, 16), family="growing"),
        diagram=linear(ends=False, chunks=True, queries=False),
        state={"state": "state of this chunk"},
        choices={"N": (32, 48, 56), "D_V": (16, 24)},
    ),
    drawn=drawn((None,)),
)
