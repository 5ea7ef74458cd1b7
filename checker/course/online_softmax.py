"""online_softmax: what is asked, how it is launched, what it may move."""

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
            2 * matrix_bytes(case), 0, "x is read once for maximum and sum together, once for the result"
        ),
        "y_ptr": Allowance(0, matrix_bytes(case), "y is written once"),
    }


def _case(m: int, n: int, block: int, **more: object) -> Case:
    return named({"BLOCK_N": block}, m, n, **more)


PUZZLE = Puzzle(
    name="online_softmax",
    title="Online softmax",
    kernel="online_softmax_kernel",
    parameters=("x_ptr", "y_ptr", "stride_xm", "stride_ym", "N", "BLOCK_N"),
    notebook="03_online_softmax",
    points=3,
    outputs=("y_ptr",),
    long=(Long(("x_ptr", "y_ptr")),),
    statement="y = softmax of each row of x, one program per row, in chunks of BLOCK_N columns. One pass finds maximum and "
    "sum together. x may be read twice and y written once. Whole chunks may be -inf, the first one too; a whole "
    "row never is.",
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
        _case(3, 61, 16, family="vast", devices=CPU),
        _case(3, 605, 16, family="creeping"),
        _case(3, 605, 16, family="climbing"),
        _case(64, 200_003, 4096, devices=GPU, family="ascending"),
        _case(16, 262_144, 16384, devices=GPU, dtype="bfloat16", family="spike"),
        _case(4096, 5003, 1024, devices=GPU, dtype="float16", family="ascending", layout="padded"),
        _case(257, 65_537, 8192, devices=GPU, family="first_chunk_masked", layout="padded"),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=row_magnitude,
    tolerance=TOLERANCE,
    hint=Hint(
        question="You have walked over 1, 2 and hold m = 2 and l = exp(1 - 2) + exp(2 - 2). Now come 3, 4. If you had known "
        "from the start that the maximum is 4, what would l be for the first two numbers? By which one number must "
        "you multiply the l you have?",
        idea="exp(x - m_new) = exp(x - m_old) · exp(m_old - m_new) for every x, so for their sum as well. When the maximum"
        " grows, multiply the old sum by exp(m_old - m_new), then add the new chunk measured against m_new. If "
        "everything was -inf so far, both maxima are -inf and their difference is NaN. Then use any finite number in "
        "place of m_new.",
        skeleton='m_i = float("-inf")\n'
        "l_i = 0.0\n"
        "for start_n in range(0, N, BLOCK_N):\n"
        "    x = tl.load(...).to(tl.float32)\n"
        "    m_new = tl.maximum(m_i, ...)\n"
        '    m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)\n'
        "    l_i = l_i * ... + tl.sum(..., axis=0)\n"
        "    m_i = ...\n"
        "for start_n in range(0, N, BLOCK_N):\n"
        "    x = ...\n"
        "    tl.store(..., ..., mask=...)",
    ),
    explanation="The invariant is: after each chunk, m is the maximum of what was seen and l the sum of exp(x - m) over it. When m grows, "
    "every old term is too large by the same factor exp(m_new - m_old), so one multiplication mends the whole sum (Milakov & "
    "Gimelshein 2018, algorithm 3). Maximum and sum come out of one pass and x is read twice: 3·M·N elements moved where three passes "
    "move 4·M·N. As long as only -inf was seen, the invariant says l = 0, and any finite stand-in for m keeps it.",
    film=FilmSpec(
        case=_case(2, 10, 4, family="ascending"),
        diagram=matrices(running(walks=1)),
        state={"m_i": "running max", "l_i": "running sum", "m_new": "new max"},
        choices={"M": (1, 2, 4), "N": (4, 7, 10, 13), "BLOCK_N": (2, 4, 8)},
    ),
    drawn=drawn(lambda draw: {"BLOCK_N": draw.choice((8, 16, 32, 128, 512))}),
    slips=slips.softmax(),
)
