"""chunked_softmax: what is asked, how it is launched, what it may move."""

from __future__ import annotations

from collections.abc import Mapping

from checker.course import slips
from checker.course.diagrams import matrices
from checker.course.families import row_magnitude
from checker.course.softmax_rows import (
    CPU,
    GPU,
    TOLERANCE,
    covered,
    drawn,
    make,
    matrix_bytes,
    named,
    reference,
    running,
    warps,
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
        options={"num_warps": warps(int(meta["BLOCK_N"]))},
    )


def budget(case: Case) -> dict[str, Allowance]:
    return {
        "x_ptr": Allowance(
            3 * matrix_bytes(case), 0, "x is read once for the maximum, once for the sum, once for the result"
        ),
        "y_ptr": Allowance(0, matrix_bytes(case), "y is written once"),
    }


def _case(m: int, n: int, block: int, **more: object) -> Case:
    return named({"BLOCK_N": block}, m, n, **more)


PUZZLE = Puzzle(
    name="chunked_softmax",
    title="Chunked softmax",
    kernel="chunked_softmax_kernel",
    parameters=("x_ptr", "y_ptr", "stride_xm", "stride_ym", "N", "BLOCK_N"),
    notebook="02_chunked_softmax",
    points=2,
    outputs=("y_ptr",),
    long=(Long(("x_ptr", "y_ptr")),),
    statement="y = softmax of each row of x, one program per row. A row may have any length and is read in chunks of "
    "BLOCK_N columns. x may be read three times and y written once. A whole chunk may be -inf; a whole row never "
    "is.",
    cases=(
        *covered([{"BLOCK_N": 16}, {"BLOCK_N": 64}, {"BLOCK_N": 1024}], rows_=(9, 1, 3)),
        _case(75, 23, 8, family="chunk_pairs_in_sight", layout="padded"),  # many programs
        _case(2, 80, 64),  # 16 divides every size, a tile divides none
        _case(3, 1, 16, dtype="bfloat16", family="positive", layout="padded"),
        _case(3, 1, 16, family="deep"),
        _case(6, 605, 16, family="chunk_triples", layout="padded"),
        _case(1, 5_003, 16),  # more chunks than anyone writes out by hand
        _case(2, 33_003, 1024),  # more columns than 16 bits can number
        _case(3, 1033, 16, dtype="float16", family="spike"),
        _case(3, 1024, 64, dtype="bfloat16", family="spike", layout="padded"),
        _case(3, 605, 16, family="climbing"),
        _case(3, 61, 16, family="vast", devices=CPU),
        _case(64, 200_003, 4096, devices=GPU),
        _case(16, 262_144, 16384, devices=GPU, dtype="bfloat16", family="spike"),
        _case(4096, 5003, 1024, devices=GPU, dtype="float16", family="ascending", layout="padded"),
        _case(257, 65_537, 8192, devices=GPU, family="deep", layout="padded"),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=row_magnitude,
    tolerance=TOLERANCE,
    hint=Hint(
        question="A row is 1, 2, 3, 4 and a chunk has 2 columns. Every output is divided by one number. Which one is it, and "
        "which of the four numbers must you have seen before you know it? What do you know after the first chunk?",
        idea="The maximum and the sum belong to the row, not to the chunk. Nothing can be written before both are known, so walk the "
        "row three times: once to find the maximum, once to add up exp(x - maximum) over all chunks, once to write. Between the "
        "passes only two numbers stay on chip.",
        skeleton="row = tl.program_id(0).to(tl.int64)\n"
        'm_i = float("-inf")\n'
        "for start_n in range(0, N, BLOCK_N):\n"
        "    offs_n = start_n + tl.arange(0, BLOCK_N)\n"
        "    x = tl.load(..., mask=..., other=...).to(tl.float32)\n"
        "    m_i = ...\n"
        "l_i = 0.0\n"
        "for start_n in range(0, N, BLOCK_N):\n"
        "    x = ...\n"
        "    l_i += ...\n"
        "for start_n in range(0, N, BLOCK_N):\n"
        "    x = ...\n"
        "    tl.store(..., ..., mask=...)",
    ),
    explanation="Softmax has two numbers that depend on the whole row, and the second needs the first: the sum cannot start before the "
    "maximum is known, and nothing can be written before the sum is. A row that does not fit on the chip is therefore read three "
    "times, and only m and l stay behind between the passes. That makes 4·M·N elements moved where a row that fits moves 2·M·N. "
    "A chunk that is -inf throughout does no harm: by the time its exponentials are taken, m is the maximum of the row and finite.",
    film=FilmSpec(
        case=_case(3, 10, 4),
        diagram=matrices(running(walks=2)),
        state={"m_i": "maximum so far", "l_i": "sum so far"},
        choices={"M": (1, 3, 4), "N": (4, 7, 10, 13), "BLOCK_N": (2, 4, 8)},
    ),
    drawn=drawn(lambda draw: {"BLOCK_N": draw.choice((8, 16, 32, 128, 512))}),
    slips=slips.softmax(),
)
