"""row_softmax: the softmax of rows that fit in one tile."""

from __future__ import annotations

from checker.course import softmax_rows
from checker.course.diagrams import matrices
from checker.course.softmax_rows import by_row
from checker.puzzle import CPU, GPU, TIMED, FilmSpec, Hint, Long, Many, Puzzle

_FAMILIES = ("chunk_pairs_in_sight", "masked", "extreme", "chunk_pairs", "normal", "constant")
_TILES = [{"BLOCK_N": 16}, {"BLOCK_N": 128}, {"BLOCK_N": 1024}]

PUZZLE = Puzzle(
    name="row_softmax",
    title="Row softmax",
    kernel="row_softmax_kernel",
    parameters=("x_ptr", "y_ptr", "stride_xm", "stride_ym", "N", "BLOCK_N"),
    notebook="01_row_softmax",
    points=2,
    outputs=("y_ptr",),
    long=(Long(("x_ptr", "y_ptr")),),
    many=(Many(("x_ptr", "y_ptr")),),
    statement="y = softmax of each row of x, one program per row, the row in one tile of BLOCK_N ≥ N lanes.",
    cases=(
        *softmax_rows.covered(_TILES, (9, 1, 3), _FAMILIES, softmax_rows.columns_in_one_tile),
        by_row(67, 7, 8, family="chunk_pairs_in_sight", layout="padded"),  # many programs
        by_row(2, 5003, 8192),  # more columns than a fixed limit would allow
        by_row(1, 12_289, 16384, layout="padded"),
        by_row(1, 40_003, 65_536, devices=CPU),  # more lanes than 16 bits can count
        by_row(3, 61, 64, family="nearly_constant"),
        by_row(2, 4096, 4096, layout="padded"),  # a round number of columns, and rows further apart
        by_row(3, 16, 16, dtype="bfloat16", family="deep"),
        by_row(3, 16, 16, dtype="bfloat16", family="positive"),
        by_row(2, 48, 64),  # 16 divides every size, a tile divides none
        by_row(3, 61, 64, family="utmost", devices=CPU),
        # added for mistakes that show in few cases only: `make mutants ARGS=--guarded`
        by_row(70, 1, 1),
        by_row(3, 64, 64, dtype="bfloat16", family="one_hot"),
        by_row(9, 2050, 4096, dtype="float16", family="chunk_pairs", layout="padded"),
        by_row(70_001, 37, 64, devices=GPU, family="negative"),
        by_row(131, 16384, 16384, devices=GPU),
        by_row(130, 12_289, 16384, devices=GPU, dtype="float16", layout="padded"),
        by_row(130, 12_289, 16384, devices=GPU, dtype="bfloat16"),
        by_row(4096, 781, 1024, devices=TIMED, family="negative"),
        by_row(1031, 16384, 16384, devices=TIMED),
        by_row(512, 12_289, 16384, devices=TIMED, dtype="float16", layout="padded"),
        by_row(512, 12_289, 16384, devices=TIMED, dtype="bfloat16"),
    ),
    make=softmax_rows.make,
    reference=softmax_rows.reference,
    launch=softmax_rows.launch_whole_rows,
    budget=softmax_rows.reading_x(1, "the row stays on chip, so x is read once"),
    scale=softmax_rows.scale,
    tolerance=softmax_rows.TOLERANCE,
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
        case=by_row(4, 7, 8),
        diagram=matrices(),
        state={"m_i": "maximum of the row", "l_i": "sum of exponentials"},
        choices={"M": (2, 4, 6), "N": (5, 7, 8, 13), "BLOCK_N": (8, 16)},
    ),
    drawn=softmax_rows.drawn_in_one_tile(_FAMILIES),
)
