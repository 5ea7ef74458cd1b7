"""What the softmax rungs over a long row share: tensors, reference, tolerance, names of cases."""

from __future__ import annotations

import torch

from checker.course.families import rows, stored
from checker.puzzle import DTYPES, Case, Tensors, Tolerance

GPU = frozenset({"gpu"})

TOLERANCE = {
    "float32": Tolerance(rtol=5e-5, c=1.0),
    "float16": Tolerance(rtol=2e-3, c=0.5),
    "bfloat16": Tolerance(rtol=1.6e-2, c=0.5),
}


def make(case: Case) -> Tensors:
    """x [M, N] and y [M, N]; a padded layout gives the two different row strides, so that neither can stand for the other."""
    m, n = case.sizes["M"], case.sizes["N"]
    return {
        "x_ptr": stored(rows(case, m, n), case),
        "y_ptr": stored(torch.zeros(m, n), case, gap=5),
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Milakov & Gimelshein 2018, section 2, equation 2 (the "safe" softmax), in float64."""
    return {"y_ptr": torch.softmax(inputs["x_ptr"], dim=-1)}


def matrix_bytes(case: Case) -> int:
    """Bytes of one [M, N] matrix in the case's dtype."""
    return case.sizes["M"] * case.sizes["N"] * DTYPES[case.dtype].itemsize


def warps(block: int) -> int:
    """Warps for a tile of `block` elements: 4 for small tiles, then one warp for every 1024 elements, at most 32."""
    return min(32, max(4, block // 1024))


def named(meta: dict[str, int], m: int, n: int, **more: object) -> Case:
    """A case of M = `m` rows and N = `n` columns whose name says all that sets it apart."""
    dtype, family = str(more.get("dtype", "float32")), str(more.get("family", "normal"))
    name = f"{m} × {n}, " + ", ".join(f"{key} = {value}" for key, value in meta.items()) + f", {dtype}"
    if family != "normal":
        name += f", {family.replace('_', ' ')} rows"
    if more.get("layout", "contiguous") != "contiguous":
        name += f", {more['layout']}"
    return Case(name, {"M": m, "N": n}, meta, **more)  # type: ignore[arg-type]
