"""chunked_softmax: the softmax of long rows in chunks, with three passes over x."""

from __future__ import annotations

from checker.course import softmax_rows
from checker.course.diagrams import matrices
from checker.course.softmax_rows import by_row
from checker.puzzle import CPU, GPU, TIMED, FilmSpec, Hint, Long, Many, Puzzle

PUZZLE = Puzzle(
    name="chunked_softmax",
    title="Chunked softmax",
    kernel="chunked_softmax_kernel",
    parameters=("x_ptr", "y_ptr", "stride_xm", "stride_ym", "N", "BLOCK_N"),
    notebook="02_chunked_softmax",
    points=2,
    outputs=("y_ptr",),
    long=(Long(("x_ptr", "y_ptr")),),
    many=(Many(("x_ptr", "y_ptr")),),
    statement="y = softmax of each row of x, one program per row. A row may have any length and is read in chunks of "
    "BLOCK_N columns. x may be read three times and y written once. A whole chunk may be -inf; a whole row never "
    "is.",
    cases=(
        *softmax_rows.in_chunks(),
        by_row(3, 605, 16, family="climbing"),
        by_row(70, 15, 16),
        by_row(3, 61, 16, family="utmost", devices=CPU),
        by_row(8, 200_003, 4096, devices=GPU),
        by_row(5, 262_144, 16384, devices=GPU, dtype="bfloat16", family="spike"),
        by_row(515, 5003, 1024, devices=GPU, dtype="float16", family="ascending", layout="padded"),
        by_row(37, 65_537, 8192, devices=GPU, family="deep", layout="padded"),
        by_row(64, 200_003, 4096, devices=TIMED),
        by_row(16, 262_144, 16384, devices=TIMED, dtype="bfloat16", family="spike"),
        by_row(4096, 5003, 1024, devices=TIMED, dtype="float16", family="ascending", layout="padded"),
        by_row(257, 65_537, 8192, devices=TIMED, family="deep", layout="padded"),
    ),
    make=softmax_rows.make,
    reference=softmax_rows.reference,
    launch=softmax_rows.launch,
    budget=softmax_rows.reading_x(3, "x is read once for the maximum, once for the sum, once for the result"),
    scale=softmax_rows.scale,
    tolerance=softmax_rows.TOLERANCE,
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
        case=by_row(3, 10, 4),
        diagram=matrices(softmax_rows.running(walks=2)),
        state={"m_i": "maximum so far", "l_i": "sum so far"},
        choices={"M": (1, 3, 4), "N": (4, 7, 10, 13), "BLOCK_N": (2, 4, 8)},
    ),
    drawn=softmax_rows.drawn(lambda draw: {"BLOCK_N": draw.choice((8, 16, 32, 128, 512))}),
)
