"""online_softmax: maximum and sum of a row in one pass, so two passes over x."""

from __future__ import annotations

from checker.course import softmax_rows
from checker.course.diagrams import matrices
from checker.course.softmax_rows import by_row
from checker.puzzle import CPU, GPU, TIMED, FilmSpec, Hint, Long, Many, Puzzle

PUZZLE = Puzzle(
    name="online_softmax",
    title="Online softmax",
    kernel="online_softmax_kernel",
    parameters=("x_ptr", "y_ptr", "stride_xm", "stride_ym", "N", "BLOCK_N"),
    notebook="03_online_softmax",
    points=3,
    outputs=("y_ptr",),
    long=(Long(("x_ptr", "y_ptr")),),
    many=(Many(("x_ptr", "y_ptr")),),
    statement="y = softmax of each row of x, one program per row, in chunks of BLOCK_N columns. One pass finds maximum and "
    "sum together. x may be read twice and y written once. Whole chunks may be -inf, the first one too; a whole "
    "row never is.",
    cases=(
        *softmax_rows.in_chunks(),
        by_row(3, 61, 16, family="utmost", devices=CPU),
        by_row(3, 605, 16, family="creeping"),
        by_row(3, 605, 16, family="climbing"),
        by_row(2, 605, 16, family="overflowing_sum"),
        by_row(8, 200_003, 4096, devices=GPU, family="ascending"),
        by_row(5, 262_144, 16384, devices=GPU, dtype="bfloat16", family="spike"),
        by_row(515, 5003, 1024, devices=GPU, dtype="float16", family="ascending", layout="padded"),
        by_row(37, 65_537, 8192, devices=GPU, family="first_chunk_masked", layout="padded"),
        by_row(64, 200_003, 4096, devices=TIMED, family="ascending"),
        by_row(16, 262_144, 16384, devices=TIMED, dtype="bfloat16", family="spike"),
        by_row(4096, 5003, 1024, devices=TIMED, dtype="float16", family="ascending", layout="padded"),
        by_row(257, 65_537, 8192, devices=TIMED, family="first_chunk_masked", layout="padded"),
    ),
    make=softmax_rows.make,
    reference=softmax_rows.reference,
    launch=softmax_rows.launch,
    budget=softmax_rows.reading_x(2, "x is read once for maximum and sum together, once for the result"),
    scale=softmax_rows.scale,
    tolerance=softmax_rows.TOLERANCE,
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
        case=by_row(2, 10, 4, family="ascending"),
        diagram=matrices(softmax_rows.running(walks=1)),
        state={"m_i": "running max", "l_i": "running sum", "m_new": "new max"},
        choices={"M": (1, 2, 4), "N": (4, 7, 10, 13), "BLOCK_N": (2, 4, 8)},
    ),
    drawn=softmax_rows.drawn(lambda draw: {"BLOCK_N": draw.choice((8, 16, 32, 128, 512))}),
)
