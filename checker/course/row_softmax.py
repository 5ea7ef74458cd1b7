"""row_softmax: what is asked, how it is launched, what it may move."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from checker.course import slips
from checker.course.diagrams import matrices
from checker.course.families import row_magnitude
from checker.course.softmax_rows import (
    CPU,
    GPU,
    TOLERANCE,
    covered,
    drawn_values,
    make,
    matrix_bytes,
    named,
    prime_below,
    reference,
)
from checker.puzzle import Allowance, Case, FilmSpec, Hint, Launch, Long, Puzzle, Scalar, Tensors


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
    return {
        "x_ptr": Allowance(matrix_bytes(case), 0, "the row stays on chip, so x is read once"),
        "y_ptr": Allowance(0, matrix_bytes(case), "y is written once"),
    }


def _case(m: int, n: int, block: int, **more: object) -> Case:
    return named({"BLOCK_N": block}, m, n, **more)


def _columns(family: str, block: int, remainder: str) -> int:
    """N for a tile that holds all of it; "one" is a tile of which just more than half is needed."""
    match remainder:
        case "none":
            return block
        case "one":
            return block // 2 + 1
        case "all but one":
            return block - 1
        case "short":
            return 1
        case _:
            return prime_below(block - 1)


def _tile_holds_the_row(draw: Random, sizes: slips.Sizes, meta: slips.Sizes) -> None:
    meta["BLOCK_N"] = slips.tile_holding(sizes["N"], draw)


def _drawn(draw: Random) -> tuple[Case, ...]:
    """The last one is larger than all that are known."""
    found = []
    for block in (*(draw.choice((8, 32, 256, 512)) for _ in range(5)), 16384):
        m, n = (72, draw.randint(12_290, block)) if block == 16384 else (draw.randint(1, 12), draw.randint(1, block))
        found.append(_case(m, n, block, **drawn_values(draw, _FAMILIES)))
    return tuple(found)


_FAMILIES = ("chunk_pairs_in_sight", "masked", "extreme", "chunk_pairs", "normal", "constant")


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
        *covered([{"BLOCK_N": 16}, {"BLOCK_N": 128}, {"BLOCK_N": 1024}], (9, 1, 3), _FAMILIES, _columns),
        _case(67, 7, 8, family="chunk_pairs_in_sight", layout="padded"),  # many programs
        _case(2, 5003, 8192),  # more columns than anyone thinks enough
        _case(1, 12_289, 16384, layout="padded"),
        _case(3, 16, 16, dtype="bfloat16", family="deep"),
        _case(3, 16, 16, dtype="bfloat16", family="positive"),
        _case(2, 48, 64),  # 16 divides every size, a tile divides none
        _case(3, 61, 64, family="vast", devices=CPU),
        # mistakes that show only in few cases asked for these: `make mutants ARGS=--guarded`
        _case(9, 2050, 4096, dtype="float16", family="chunk_pairs", layout="padded"),
        _case(4096, 781, 1024, devices=GPU, family="negative"),
        _case(1031, 16384, 16384, devices=GPU),
        _case(512, 12_289, 16384, devices=GPU, dtype="float16", layout="padded"),
        _case(512, 12_289, 16384, devices=GPU, dtype="bfloat16"),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=row_magnitude,
    tolerance=TOLERANCE,
    hint=Hint(
        question="A row has 3 numbers, -5, -6 and -7, and your tile has 4 lanes. What does the fourth lane hold after the load? "
        "What is the maximum of all four, and what does the fourth add to the sum?",
        idea="The masked lanes must not change the maximum and must add nothing to the sum: exp(-inf) is 0 and -inf is never the "
        "maximum. Subtract the row's maximum before `tl.exp`, then divide by the sum.",
        skeleton="row = tl.program_id(0).to(tl.int64)\noffs_n = tl.arange(0, BLOCK_N)\nmask = ...\n"
        'x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf")).to(tl.float32)\n'
        "m_i = ...\np = ...\nl_i = ...\ntl.store(y_ptr + row * stride_ym + offs_n, ..., mask=mask)",
    ),
    explanation="Subtracting the row's maximum changes nothing on paper: numerator and denominator are both divided by "
    "exp(max). It keeps every exponent at or below 0, so nothing overflows. The lanes past N hold -inf: they "
    "cannot be the maximum and exp(-inf) = 0 adds nothing to the sum. Each element of x is read once and each of "
    "y written once: 2·M·N elements, the least that any softmax must move. The row's number has 64 bits because "
    "row · stride passes 2³¹ in a large matrix.",
    film=FilmSpec(
        case=_case(4, 7, 8),
        diagram=matrices(),
        state={"m_i": "maximum of the row", "l_i": "sum of exponentials"},
        choices={"M": (2, 4, 6), "N": (5, 7, 8, 13), "BLOCK_N": (8, 16)},
    ),
    drawn=_drawn,
    slips=slips.softmax(_tile_holds_the_row),
)
