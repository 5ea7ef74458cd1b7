"""row_softmax: what is asked, how it is launched, what it may move."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import torch

from checker.course import slips
from checker.course.diagrams import matrices
from checker.course.families import row_magnitude, rows, stored
from checker.puzzle import DTYPES, Allowance, Case, FilmSpec, Hint, Launch, Long, Puzzle, Scalar, Tensors, Tolerance


def make(case: Case) -> Tensors:
    m, n = case.sizes["M"], case.sizes["N"]
    return {
        "x_ptr": stored(rows(case, m, n), case),
        "y_ptr": stored(torch.zeros(m, n), case, gap=5),  # another stride than x, so that neither stands for the other
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Milakov & Gimelshein 2018, section 2, equation 2 (the "safe" softmax), in float64."""
    return {"y_ptr": torch.softmax(inputs["x_ptr"], dim=-1)}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    x, y = tensors["x_ptr"], tensors["y_ptr"]
    return Launch(
        grid=(case.sizes["M"],),
        arguments={
            "x_ptr": x,
            "y_ptr": y,
            "stride_xm": x.stride(0),
            "stride_ym": y.stride(0),
            "N": case.sizes["N"],
        },
        meta=meta,
        outputs=("y_ptr",),
        options={"num_warps": 4 if int(meta["BLOCK_N"]) < 8192 else 16},
    )


def budget(case: Case) -> dict[str, Allowance]:
    matrix = case.sizes["M"] * case.sizes["N"] * DTYPES[case.dtype].itemsize
    return {
        "x_ptr": Allowance(matrix, 0, "the row stays on chip, so x is read once"),
        "y_ptr": Allowance(0, matrix, "y is written once"),
    }


def _case(m: int, n: int, block: int, **more: object) -> Case:
    dtype, family = str(more.get("dtype", "float32")), str(more.get("family", "normal"))
    name = f"{m} × {n}, BLOCK_N = {block}, {dtype}" + ("" if family == "normal" else f", {family} rows")
    if more.get("layout", "contiguous") != "contiguous":
        name += f", {more['layout']}"
    return Case(name, {"M": m, "N": n}, {"BLOCK_N": block}, **more)  # type: ignore[arg-type]


_GPU = frozenset({"gpu"})


def _tile_holds_the_row(draw: Random, sizes: slips.Sizes, meta: slips.Sizes) -> None:
    meta["BLOCK_N"] = slips.tile_holding(sizes["N"], draw)


PUZZLE = Puzzle(
    name="row_softmax",
    title="Row softmax",
    kernel="row_softmax_kernel",
    parameters=("x_ptr", "y_ptr", "stride_xm", "stride_ym", "N", "BLOCK_N"),
    notebook="01_row_softmax",
    points=2,
    outputs=("y_ptr",),
    long=(Long(("x_ptr", "y_ptr")),),
    statement="y = softmax of each row of x, one program per row, the row in one tile of BLOCK_N ≥ N lanes.",
    cases=(
        _case(3, 16, 16),
        _case(1, 1, 16),
        _case(4, 15, 16),
        _case(3, 17, 32),
        _case(5, 37, 64, family="negative"),
        _case(5, 37, 64, family="deep"),
        _case(5, 37, 64, family="positive"),
        _case(3, 97, 128, family="ascending"),
        _case(3, 31, 32, family="one_hot"),
        _case(2, 33, 64, family="constant"),
        _case(4, 61, 64, family="masked"),
        _case(4, 50, 64, layout="padded"),
        _case(3, 781, 1024, family="negative", layout="padded"),
        _case(4, 129, 256, dtype="float16"),
        _case(4, 129, 256, dtype="bfloat16", family="negative"),
        _case(4096, 781, 1024, devices=_GPU, family="negative"),
        _case(8192, 16384, 16384, devices=_GPU),
        _case(512, 12_289, 16384, devices=_GPU, dtype="float16", layout="padded"),
        _case(512, 12_289, 16384, devices=_GPU, dtype="bfloat16"),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=row_magnitude,
    tolerance={
        "float32": Tolerance(rtol=5e-5, c=1.0),
        "float16": Tolerance(rtol=2e-3, c=0.5),
        "bfloat16": Tolerance(rtol=1.6e-2, c=0.5),
    },
    hint=Hint(
        question="A row has 3 numbers, -5, -6 and -7, and your tile has 4 lanes. What does the fourth lane hold after the load? "
        "What is the maximum of all four, and what does the fourth add to the sum?",
        idea="The masked lanes must not change the maximum and must add nothing to the sum: exp(-inf) is 0 and -inf is never the "
        "maximum. Subtract the row's maximum before `tl.exp`, then divide by the sum.",
        skeleton="row = tl.program_id(0).to(tl.int64)\noffs_n = tl.arange(0, BLOCK_N)\nmask = ...\n"
        'x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf")).to(tl.float32)\n'
        "m_i = ...\np = ...\nl_i = ...\ntl.store(y_ptr + row * stride_ym + offs_n, ..., mask=mask)",
    ),
    explanation="Subtracting the row's maximum changes nothing on paper, since numerator and denominator are both divided by "
    "exp(max), but it keeps every exponent at or below 0, so nothing overflows. The lanes past N hold -inf: they cannot be the "
    "maximum and exp(-inf) = 0 adds nothing to the sum. Each element of x is read once and each of y written once: 2·M·N elements, "
    "the least that any softmax must move. The row's number has 64 bits because row · stride passes 2³¹ in a large matrix.",
    film=FilmSpec(
        case=_case(4, 7, 8),
        diagram=matrices(),
        state={"m_i": "maximum of the row", "l_i": "sum of exponentials"},
        choices={"M": (2, 4, 6), "N": (5, 7, 8, 13), "BLOCK_N": (8, 16)},
    ),
    slips=slips.softmax(_tile_holds_the_row),
)
