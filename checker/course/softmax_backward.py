"""softmax_backward: the gradient of x from y = softmax(x) and the gradient of y."""

from __future__ import annotations

from dataclasses import replace

import torch

from checker.course import softmax_rows
from checker.course.diagrams import flowing
from checker.course.families import generator, once_a_case, rows, stored
from checker.course.softmax_rows import by_row, matrix_bytes
from checker.puzzle import (
    CPU,
    DTYPES,
    GPU,
    TIMED,
    Allowance,
    Case,
    FilmSpec,
    Hint,
    Long,
    Many,
    Puzzle,
    Tensors,
    Tolerance,
)

TOLERANCE = {
    "float32": Tolerance(rtol=2**-22, c=32.0),
    "float16": Tolerance(rtol=5 * 2**-12, c=2.0**-8),
    "bfloat16": Tolerance(rtol=5 * 2**-9, c=2.0**-11),
}
"""2.5 times the rounding of dx to its dtype, and 32 float32 steps of the terms of the difference (`scale`), whatever the dtype."""
_LEAST = {"float32": 2.0**-126, "float16": 5 * 2.0**-26, "bfloat16": 2.0**-126}
"""The absolute error allowed for any gradient: a GPU may flush numbers below 2⁻¹²⁶ to 0, and float16 rounds by 2⁻²⁵."""
_SMALL = {"float32": 2.0**-86, "float16": 2.0**-8, "bfloat16": 2.0**-86}
"""The factor of gradients in "small_gradients": small, but results still differ from 0."""

_FAMILIES = ("masked_weights", "alike_gradients", "normal", "large", "small_gradients", "one_hot", "constant")
_ROWS = {"masked_weights": "masked", "one_hot": "one_hot", "constant": "constant"}
"""The family of the rows of which y is the softmax, if not "normal"."""


def make(case: Case) -> Tensors:
    """y, dy and dx, each [M, N] in the case's dtype. y is a softmax as a forward pass stores it. If padded, all row strides differ."""
    m, n = case.sizes["M"], case.sizes["N"]
    x = rows(replace(case, family=_ROWS.get(case.family, "normal")), m, n)
    if case.family == "rare":  # one column has nearly all the weight
        x[:, 0] = 20.0
    if case.family == "one_hot":  # so that float16 can hold the small weights, too
        x = x * 0.16
    return {
        "y_ptr": stored(torch.softmax(x, dim=-1), case),
        "dy_ptr": stored(_gradients(case, m, n), case, gap=7),
        "dx_ptr": stored(torch.zeros(m, n), case, gap=5),
    }


def _gradients(case: Case, m: int, n: int) -> torch.Tensor:
    """[m, n] float64 of either sign, independent of y. Raises ValueError for an unknown family."""
    dy = torch.randn(m, n, generator=generator(replace(case, seed=case.seed + 1)), dtype=torch.float64)
    match case.family:
        case "normal" | "one_hot" | "constant":
            return dy
        case "masked_weights":  # elements without weight have the largest gradients
            return dy * torch.where(rows(replace(case, family="masked"), m, n) == -torch.inf, 50.0, 1.0)
        case "alike_gradients":  # nearly all of dy cancels
            return 100.0 + dy
        case "large":  # the sum overflows in the dtype, the weighted mean does not
            return dy * (torch.finfo(DTYPES[case.dtype]).max / 32)
        case "apart":  # the difference of two overflows in float16
            return 60_000.0 * torch.where(torch.arange(n) % 7 == 3, -1.0, 1.0).double().repeat(m, 1)
        case "small_gradients":  # the dtype can hold dy, but float16 barely y · dy
            return dy * _SMALL[case.dtype]
        case "rare":  # weights of 10⁻⁹ with gradients of 10⁹
            return torch.cat([dy[:, :1], dy[:, 1:] * 2.0**30], dim=1)
        case other:
            raise ValueError(f"no family of gradients is called {other!r}")


def reference(case: Case, inputs: Tensors) -> Tensors:
    """dxᵢ = Σⱼ dyⱼ ∂yⱼ/∂xᵢ with ∂yⱼ/∂xᵢ = yⱼ (δᵢⱼ - yᵢ), as in Dao et al. 2022 (FlashAttention), appendix B.2, in float64."""
    y, dy = inputs["y_ptr"], inputs["dy_ptr"]
    return {"dx_ptr": y * (dy - (y * dy).sum(dim=-1, keepdim=True))}


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """The magnitude of the difference that makes each element, y · (|dy| + Σ y · |dy|). Where y is 0, no error is allowed."""
    return _magnitude(case, output)


@once_a_case
def _magnitude(case: Case, output: str) -> torch.Tensor:
    made = make(case)
    y, dy = made["y_ptr"].double(), made["dy_ptr"].double().abs()
    one_step = TOLERANCE[case.dtype].c * torch.finfo(DTYPES[case.dtype]).eps
    return (y * (dy + (y * dy).sum(dim=-1, keepdim=True)) + _LEAST[case.dtype] / one_step).where(y > 0, 0.0)


def budget(case: Case) -> dict[str, Allowance]:
    once = "a row stays on chip between the sum and the product, so it is read once"
    return {
        "y_ptr": Allowance(matrix_bytes(case), 0, once),
        "dy_ptr": Allowance(matrix_bytes(case), 0, once),
        "dx_ptr": Allowance(0, matrix_bytes(case), "dx is written once"),
    }


_TILES = [{"BLOCK_N": 16}, {"BLOCK_N": 128}, {"BLOCK_N": 1024}]

PUZZLE = Puzzle(
    name="softmax_backward",
    title="Softmax, backward",
    kernel="softmax_backward_kernel",
    parameters=("y_ptr", "dy_ptr", "dx_ptr", "stride_ym", "stride_dym", "stride_dxm", "N", "BLOCK_N"),
    notebook="08_the_way_back",
    points=2,
    outputs=("dx_ptr",),
    long=(Long(("y_ptr", "dy_ptr", "dx_ptr")),),
    many=(Many(("y_ptr", "dy_ptr", "dx_ptr")),),
    statement="y is the softmax of each row of some x, and dy the gradient of a loss with respect to y. dx is the gradient with "
    "respect to x: dx = y · (dy - delta) with delta = Σ y · dy of the row. One program per row, the row in one tile of "
    "BLOCK_N ≥ N lanes.",
    cases=(
        *softmax_rows.covered(_TILES, (9, 1, 3), _FAMILIES, softmax_rows.columns_in_one_tile),
        by_row(67, 7, 8, family="alike_gradients", layout="padded"),  # many programs
        by_row(2, 5003, 8192),  # more columns than a fixed limit would allow
        by_row(1, 40_003, 65_536, devices=CPU),  # more lanes than 16 bits can count
        by_row(2, 4096, 4096, layout="padded"),  # a round number of columns, and rows further apart
        by_row(2, 5003, 8192, family="alike_gradients", dtype="float16"),
        by_row(2, 48, 64),  # 16 divides every size, a tile divides none
        # added for mistakes that show in few cases only: `make mutants ARGS=--guarded`
        by_row(70, 1, 1),
        by_row(67, 7, 8, family="alike_gradients", dtype="float16"),
        by_row(67, 15, 16, family="alike_gradients", dtype="bfloat16", layout="padded"),
        by_row(2, 2050, 4096, family="alike_gradients", dtype="bfloat16", layout="padded"),
        by_row(3, 21, 32, family="apart", dtype="float16"),
        by_row(9, 21, 32, family="rare", layout="padded"),
        by_row(9, 37, 64, family="rare", dtype="bfloat16", layout="padded"),
        by_row(70_001, 37, 64, devices=GPU, family="masked_weights"),
        by_row(131, 16384, 16384, devices=GPU),
        by_row(130, 12_289, 16384, devices=GPU, dtype="float16", layout="padded"),
        by_row(130, 12_289, 16384, devices=GPU, dtype="bfloat16", family="alike_gradients"),
        by_row(4096, 781, 1024, devices=TIMED, family="masked_weights"),
        by_row(1031, 16384, 16384, devices=TIMED),
        by_row(512, 12_289, 16384, devices=TIMED, dtype="float16", layout="padded"),
        by_row(512, 12_289, 16384, devices=TIMED, dtype="bfloat16", family="alike_gradients"),
    ),
    make=make,
    reference=reference,
    launch=softmax_rows.launch_whole_rows,
    budget=budget,
    scale=scale,
    tolerance=TOLERANCE,
    hint=Hint(
        question="Two outputs are 0.5 and 0.5, and the loss grows with the first one only: dy = (1, 0). If x[0] grows, what does y[1] do? "
        "So what is dx[1], and what do the two numbers of dx add up to?",
        idea="Every number of dx needs one sum over the whole row, delta = Σ y · dy. Once the program has it, each lane is on its own: "
        "y · (dy - delta). Lanes past N must add nothing to the sum.",
        skeleton="row = tl.program_id(0).to(tl.int64)\noffs_n = tl.arange(0, BLOCK_N)\nmask = ...\n"
        "y = tl.load(y_ptr + row * stride_ym + offs_n, mask=mask, other=...).to(tl.float32)\n"
        "dy = ...\ndelta = ...\ntl.store(dx_ptr + row * stride_dxm + offs_n, ..., mask=mask)",
    ),
    explanation="A softmax's outputs share one whole, so what one of them gains the others lose: delta, the mean of dy weighted by y, "
    "is what they lose. The numbers of a row of dx add up to 0, because raising all of x by the same number changes nothing. x itself is not "
    "needed: y says all that the gradient asks. Each element of y and of dy is read once and each of dx written once, 3·M·N elements, so the "
    "kernel takes as long as the memory does. The same delta comes back in attention, where it can be had without y.",
    film=FilmSpec(
        case=by_row(4, 7, 8),
        diagram=flowing(y_ptr=("row", "column"), dy_ptr=("row", "column"), dx_ptr=("row", "column")),
        state={"delta": "sum of y · dy"},
        choices={"M": (2, 4, 6), "N": (5, 7, 8, 13), "BLOCK_N": (8, 16)},
    ),
    drawn=softmax_rows.drawn_in_one_tile(_FAMILIES),
)
