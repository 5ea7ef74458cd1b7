"""feature_slices: causal linear attention whose programs own features, so that several programs add to the same outputs.

The state S = φ(K)ᵀ V is divided by rows. In the kernel that the learner writes it is divided by columns, and a single program
writes each number of the output, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from checker.authoring import puzzle
from checker.course.diagrams import linear
from checker.course.family_words import case_of
from checker.course.linear_inputs import (
    EPS,
    State,
    causal_linear_attention,
    feature_map,
    magnitude,
    queries_keys_values,
    rows,
    strides,
)
from checker.puzzle import GPU, Allowance, Case, FilmSpec, Launch, Scalar, Tensors, Tolerance


def make(case: Case) -> Tensors:
    b, h, n, d, d_v = (case.sizes[name] for name in ("B", "H", "N", "D", "D_V"))
    q, k, v = queries_keys_values(case, (b, h, n, d), (b, h, n, d), d_v, dots=False)
    return {
        "q_ptr": q,
        "k_ptr": k,
        "v_ptr": v,
        "num_ptr": torch.zeros(b, h, n, d_v, dtype=torch.float32),
        "den_ptr": torch.zeros(b, h, n, dtype=torch.float32),
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Numerator and normaliser of equation 5, causal (see `linear_inputs`), before one is divided by the other."""
    q, k, v = inputs["q_ptr"], inputs["k_ptr"], inputs["v_ptr"]
    nothing = State(q.new_zeros(*q.shape[:2], q.shape[-1], v.shape[-1]), q.new_zeros(*q.shape[:2], q.shape[-1]))
    o, _ = causal_linear_attention(q, k, v, nothing)
    den = (feature_map(q) * feature_map(k).cumsum(dim=-2)).sum(dim=-1)
    return {"num_ptr": o * (den + EPS)[..., None], "den_ptr": den}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    """Outputs that are added to have to start at 0. On a GPU that takes one more pass over them, before the kernel."""
    for name in ("num_ptr", "den_ptr"):
        tensors[name].zero_()
    b, h, n, d, d_v = (case.sizes[name] for name in ("B", "H", "N", "D", "D_V"))
    return Launch(
        grid=(b * h, _slices(case, meta)),
        arguments={**tensors, **strides(tensors, {"q": "hm", "k": "hn", "v": "hn"}), "N": n, "D": d, "D_V": d_v},
        meta={**meta, "BLOCK_V": 1 << (d_v - 1).bit_length()},
        outputs=("num_ptr", "den_ptr"),
        options={"num_warps": 4, "num_stages": 1},
    )


def budget(case: Case) -> dict[str, Allowance]:
    n, d, d_v = case.sizes["N"], case.sizes["D"], case.sizes["D_V"]
    slices = _slices(case, case.meta)
    outputs = slices * case.sizes["B"] * case.sizes["H"] * n * 4
    share = "every program reads, adds and writes back its share of every number, in one atomic step"
    return {
        "q_ptr": Allowance(rows(case, n, d), 0, "each program loads its own features"),
        "k_ptr": Allowance(rows(case, n, d), 0, "each program loads its own features"),
        "v_ptr": Allowance(slices * rows(case, n, d_v), 0, "every program of a head needs the whole value"),
        "num_ptr": Allowance(outputs * d_v, outputs * d_v, share),
        "den_ptr": Allowance(outputs, outputs, share),
    }


def _slices(case: Case, meta: Mapping[str, Scalar]) -> int:
    return -(-case.sizes["D"] // int(meta["BLOCK_D"]))


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """The largest element of a row of the numerator; for a denominator its own size."""
    return magnitude(case, output, expected) if output == "num_ptr" else expected.abs()


def _case(b: int, h: int, n: int, d: int, d_v: int, block_d: int, **more: Any) -> Case:
    sizes = {"B": b, "H": h, "N": n, "D": d, "D_V": d_v}
    return case_of(sizes, {"BLOCK_D": block_d}, **more)


DEMONSTRATION = puzzle(
    __file__,
    notebook="10_linear_attention",
    points=0,
    outputs=("num_ptr", "den_ptr"),
    cases=(
        _case(1, 1, 12, 8, 4, 4),
        _case(1, 1, 1, 16, 16, 16),
        _case(2, 3, 37, 24, 5, 16, family="growing", layout="padded"),
        _case(1, 2, 33, 16, 40, 4, family="signs"),
        _case(1, 2, 20, 20, 16, 8, family="warm"),
        _case(1, 2, 50, 16, 16, 4, dtype="float16", family="growing"),
        _case(2, 1, 31, 32, 24, 8, dtype="bfloat16", layout="padded"),
        _case(4, 16, 1024, 64, 64, 16, devices=GPU),
        _case(2, 8, 2047, 64, 72, 16, devices=GPU, dtype="float16", family="growing", layout="padded"),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=scale,
    tolerance={
        # no product goes through a tensor core and outputs are float32 whatever the inputs are: 256 steps of float32
        "float32": Tolerance(rtol=1e-5, c=256.0),
        "float16": Tolerance(rtol=1e-5, c=256.0 / 2**13),
        "bfloat16": Tolerance(rtol=1e-5, c=256.0 / 2**16),
    },
    film=FilmSpec(
        case=_case(1, 1, 12, 8, 4, 4),
        diagram=linear(output="num_ptr", ends=False),
        state={"s": "rows of the state", "z": "sum of keys", "k": "features of the key", "q": "features of the query"},
    ),
)
