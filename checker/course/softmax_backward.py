"""softmax_backward: the gradient of a softmax with respect to its input, row by row."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from checker.authoring import family, puzzle, table
from checker.course import families as rows_of
from checker.course.diagrams import flowing
from checker.course.softmax_rows import HOLDS_ROW, one_tile_space, one_tile_warps
from checker.course.tensors import AWKWARD, generator, once_a_case, stored
from checker.puzzle import DTYPES, NORMAL, Case, Domain, FilmSpec, Tensors, Tolerance

TOLERANCE = {
    "float32": Tolerance(rtol=2**-22, c=32.0),
    "float16": Tolerance(rtol=5 * 2**-12, c=2.0**-8),
    "bfloat16": Tolerance(rtol=5 * 2**-9, c=2.0**-11),
}
"""2.5 times the rounding of dx to its dtype, and 32 float32 steps of the terms of the difference (`scale`), whatever the dtype."""
LEAST = {"float32": 2.0**-126, "float16": 5 * 2.0**-26, "bfloat16": 2.0**-126}
"""The absolute error allowed for any gradient: a GPU may flush numbers below 2⁻¹²⁶ to 0, and float16 rounds by 2⁻²⁵."""
SMALL = {"float32": 2.0**-86, "float16": 2.0**-8, "bfloat16": 2.0**-86}
"""The factor of gradients in "small_gradients": small, but results still differ from 0."""
APART = {"float32": 0.45, "float16": 0.9, "bfloat16": 0.45}
"""Gradients in "large", as a share of the largest number: float32 holds their differences, float16 does not."""
Rows = tuple[torch.Tensor, torch.Tensor]
"""x, of which y is the softmax, and dy, each [M, N] float64. Both are normal before a family changes them."""


@family("rows of y in which some elements are 0", "zeros in y")
def masked_weights(rows: Rows, case: Case) -> Rows:
    x, dy = rows
    x = rows_of.masked.make(x, case)
    return x, dy * torch.where(x == -torch.inf, 50.0, 1.0)  # elements without weight have the largest gradients


@family("rows in which the last element takes nearly everything", "one hot rows")
def one_hot(rows: Rows, case: Case) -> Rows:
    x, dy = rows
    return 0.16 * rows_of.one_hot.make(x, case), dy  # float16 can hold the small weights, too


@family("rows in which all numbers are equal", "constant rows")
def constant(rows: Rows, case: Case) -> Rows:
    x, dy = rows
    return rows_of.constant.make(x, case), dy


@family("gradients that are nearly alike", "gradients nearly alike")
def alike_gradients(rows: Rows, case: Case) -> Rows:
    x, dy = rows
    return x, 100.0 + dy  # nearly all of dy cancels


@family("gradients whose weighted mean is 0, or that are 0 themselves", "cancelling gradients")
def cancelling(rows: Rows, case: Case) -> Rows:
    x, dy = rows
    pairs = dy.shape[1] // 2 * 2
    dy[:, 1:pairs:2] = -dy[:, 0:pairs:2]
    dy[:, pairs:] = 0.0
    dy[1::2] = 0.0
    return torch.zeros_like(x), dy


@family("large numbers", "large numbers")
def large(rows: Rows, case: Case) -> Rows:
    x, dy = rows
    largest = torch.finfo(DTYPES[case.dtype]).max
    dy = dy * (largest / 32)  # the sum overflows, the weighted mean does not
    apart = torch.where(torch.arange(dy.shape[1]) % 7 == 1, -APART[case.dtype], APART[case.dtype])
    dy[::2] = apart * largest  # the differences overflow in float16, not in float32
    return x, dy


@family("gradients near the smallest number of the dtype", "smallest gradients")
def small_gradients(rows: Rows, case: Case) -> Rows:
    x, dy = rows
    return x, dy * SMALL[case.dtype]  # the dtype can hold dy, but float16 barely y · dy


@family("weights as small as their gradients are large", "light weights")
def light_weights(rows: Rows, case: Case) -> Rows:
    x, dy = rows
    light = torch.arange(x.shape[1]).expand(x.shape) % 3 == 1
    light[1::2] = torch.arange(x.shape[1]) > 0  # the first element alone has a weight that rounds to 1
    depth = 7.0 if case.dtype == "float16" else 60.0
    return x - depth * light, dy * torch.where(light, math.exp(depth), 1.0)


def make(case: Case) -> Tensors:
    """y, dy and dx, each [M, N] in the case's dtype. y is a softmax as a forward pass stores it. If padded, all row strides differ."""
    shape = case.sizes["M"], case.sizes["N"]
    x, dy = (
        torch.randn(shape, generator=generator(replace(case, seed=case.seed + i)), dtype=torch.float64) for i in (0, 1)
    )
    x, dy = case.family.make((x, dy), case)
    return {
        "y_ptr": stored(torch.softmax(x, dim=-1), case),
        "dy_ptr": stored(dy, case, gap=7),
        "dx_ptr": stored(torch.zeros(shape), case, gap=5, output=True),
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    """dxᵢ = Σⱼ dyⱼ ∂yⱼ/∂xᵢ with ∂yⱼ/∂xᵢ = yⱼ (δᵢⱼ - yᵢ), as in Dao et al. 2022 (FlashAttention), appendix B.2, in float64."""
    y, dy = inputs["y_ptr"], inputs["dy_ptr"]
    return {"dx_ptr": y * (dy - (y * dy).sum(dim=-1, keepdim=True))}


@once_a_case
def magnitude(case: Case, output: str) -> torch.Tensor:
    """The magnitude of the difference that makes each element, y · (|dy| + Σ y · |dy|). Where y is 0, no error is allowed."""
    made = make(case)
    y, dy = made["y_ptr"].double(), made["dy_ptr"].double().abs()
    one_step = TOLERANCE[case.dtype].c * torch.finfo(DTYPES[case.dtype]).eps
    return (y * (dy + (y * dy).sum(dim=-1, keepdim=True)) + LEAST[case.dtype] / one_step).where(y > 0, 0.0)


FAMILIES = (masked_weights, alike_gradients, cancelling, NORMAL, large, small_gradients, one_hot, constant)
"""What every factor meets; `light_weights` has a case of its own."""
ONCE = "a row stays on chip between the sum and the product, so it is read once"

PUZZLE = puzzle(
    __file__,
    notebook="11_the_way_back",
    points=2,
    grid=lambda n: (n["M"],),
    options=one_tile_warps,
    reads={"y": 1, "dy": 1},
    writes={"dx": 1},
    because={"y": ONCE, "dy": ONCE},
    make=make,
    reference=reference,
    scale=lambda case, output, expected: magnitude(case, output),
    tolerance=TOLERANCE,
    space=one_tile_space(FAMILIES),
    cases=table(
        """
        M       N       BLOCK_N  values           dtype     layout  on     why
        3       37      64       light_weights    -         -       -      small weights dropped (tiny_weights_dropped)
        70_001  37      64       masked_weights   -         -       gpu
        131     16_384  16_384   -                -         -       gpu
        130     12_289  16_384   -                float16   padded  gpu
        130     12_289  16_384   alike_gradients  bfloat16  -       gpu
        4096    781     1024     masked_weights   -         -       timed
        1031    16_384  16_384   -                -         -       timed
        512     12_289  16_384   -                float16   padded  timed
        512     12_289  16_384   alike_gradients  bfloat16  -       timed
        """,
        families=(*FAMILIES, light_weights),
    )
    + tuple(Case({"M": 3, "N": n}, {"BLOCK_N": 64}) for n in AWKWARD),
    domain=Domain(
        sizes={"M": (), "N": ()},
        tiles={"BLOCK_N": 1},
        related=HOLDS_ROW,
        values="y is a softmax, some of whose elements may be 0; dy holds any finite numbers whose differences are finite.",
        memory="a row's elements are adjacent. The rows of y, dy and dx may be any distance apart, even so far that offsets pass 2³², and "
        "those of y and dy may repeat, with a stride of 0.",
        accuracy="dx may be off by a few float32 roundings of y · (|dy| + Σ y · |dy|), plus the rounding to its own type.",
        expanded=("y", "dy"),
    ),
    film=FilmSpec(
        case=Case({"M": 4, "N": 7}, {"BLOCK_N": 8}),
        diagram=flowing(y_ptr=("row", "column"), dy_ptr=("row", "column"), dx_ptr=("row", "column")),
        state={"delta": "sum of y · dy"},
        choices={"M": (2, 4, 6), "N": (5, 7, 8, 13), "BLOCK_N": (8, 16)},
    ),
)
