"""What the softmax rungs over a long row share: tensors, reference, tolerance, names of cases."""

from __future__ import annotations

import math

import torch

from checker.course.families import rows, stored
from checker.puzzle import DTYPES, Case, ExactState, RunningState, Tensors, Tolerance

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


def max_and_sum(x: torch.Tensor, against: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Of each row of x [rows, columns]: its maximum, and the sum of exp(x - `against`), else of exp(x - maximum).

    A row of nothing but -inf has neither: both are NaN.
    """
    m = x.amax(dim=-1)
    m = m.masked_fill(m == -torch.inf, torch.nan)
    return m, torch.exp(x - (m if against is None else against)[:, None]).sum(dim=-1)


def honest_forms(names: tuple[str, str], m: torch.Tensor, l: torch.Tensor) -> ExactState:
    """What stands for a maximum and a sum, [rows] each, under the given names.

    The maximum may be held in base two. After the walk either may have become the log-sum-exp, and the sum its reciprocal
    or its logarithm, in base two as well.
    """
    log = l.where(l > 0, torch.nan).log()
    base_two = 1 / math.log(2)
    maxima, after = [m, m * base_two], [m + log, (m + log) * base_two]
    sums = [l, *after, 1 / l.where(l > 0, torch.nan), log, log * base_two]
    return ExactState(
        {names[0]: torch.stack(maxima), names[1]: l[None]},
        {names[0]: torch.stack([*maxima, *after]), names[1]: torch.stack(sums)},
    )


def _in_one_walk(x: torch.Tensor, seen: torch.Tensor) -> ExactState:
    """Milakov & Gimelshein 2018, algorithm 3: both are always those of all that was seen."""
    m, l = max_and_sum(x.masked_fill(seen < 1, -torch.inf))
    return honest_forms(("m_i", "l_i"), m, l)


def _in_two_walks(x: torch.Tensor, seen: torch.Tensor) -> ExactState:
    """The maximum in a first walk, the sum in a second one, against the maximum of the whole row."""
    m, _ = max_and_sum(x.masked_fill(seen < 1, -torch.inf))
    l = max_and_sum(x.masked_fill(seen < 2, -torch.inf), against=m)[1]
    return honest_forms(("m_i", "l_i"), m, l.masked_fill((seen < 2).all(dim=-1), torch.nan))


def running(*, walks: int) -> RunningState:
    """m_i and l_i of each row of x, found in one walk or in two; either way is right, `walks` is the puzzle's own."""
    ways = (_in_one_walk, _in_two_walks) if walks == 1 else (_in_two_walks, _in_one_walk)
    return RunningState(
        walked="x_ptr",
        rows="x_ptr",
        names=("m_i", "l_i"),
        exact=lambda case, tensors, seen, at: tuple(way(tensors["x_ptr"], seen) for way in ways),
    )


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
