"""tiled_softmax: online softmax of several rows at once, in tiles."""

from __future__ import annotations

from checker.course import softmax_rows
from checker.course.diagrams import matrices
from checker.puzzle import CPU, GPU, TIMED, Case, FilmSpec, Hint, Long, Many, Puzzle


def _case(m: int, n: int, block_m: int, block_n: int, **more: object) -> Case:
    return softmax_rows.named({"BLOCK_M": block_m, "BLOCK_N": block_n}, m, n, **more)


_TILES = [{"BLOCK_M": m, "BLOCK_N": n} for m, n in ((4, 16), (16, 16), (16, 8), (2, 1024))]


PUZZLE = Puzzle(
    name="tiled_softmax",
    title="Tiled softmax",
    kernel="tiled_softmax_kernel",
    parameters=("x_ptr", "y_ptr", "stride_xm", "stride_ym", "M", "N", "BLOCK_M", "BLOCK_N"),
    notebook="04_tiled_softmax",
    points=3,
    outputs=("y_ptr",),
    long=(Long(("x_ptr", "y_ptr")),),
    many=(Many(("x_ptr", "y_ptr")),),
    statement="y = softmax of each row of x, one program per BLOCK_M rows, tiles of BLOCK_M × BLOCK_N, one maximum and one sum for each row. "
    "Rows and columns need not fill their tiles, and rows may lie further apart than they are long. x may be read twice and y written "
    "once. Any part of a row may be -inf; a whole row never is.",
    cases=(
        *softmax_rows.covered(_TILES, rows_=(11, 1, 8)),
        _case(75, 23, 1, 8, family="chunk_pairs_in_sight", layout="padded"),  # many programs
        _case(48, 80, 32, 64),  # 16 divides every size, a tile divides none
        _case(71, 1, 4, 16, dtype="bfloat16", family="positive", layout="padded"),
        _case(71, 1, 4, 16, family="extreme"),
        _case(71, 23, 4, 16, family="chunk_pairs_in_sight"),
        _case(64, 83, 16, 16, family="chunk_pairs"),
        _case(64, 72, 8, 8, dtype="float16", family="chunk_pairs"),
        _case(7, 605, 4, 16, family="chunk_triples"),
        _case(3, 5_003, 4, 16),  # too many chunks to unroll by hand
        _case(2, 33_003, 2, 1024),  # more columns than 16 bits can count
        _case(3, 4096, 2, 1024, layout="padded"),  # a round number of columns, and rows further apart
        _case(71, 1033, 4, 16, dtype="float16", family="spike"),
        _case(5, 1024, 4, 16, dtype="bfloat16", family="spike", layout="padded"),
        _case(3, 61, 4, 16, family="utmost", devices=CPU),
        _case(3, 605, 4, 16, family="creeping"),
        _case(3, 605, 4, 16, family="climbing"),
        _case(3, 605, 4, 16, family="overflowing_sum"),
        _case(3, 61, 4, 16, family="nearly_constant"),
        # whatever an unrolled loop leaves over, the last tile decides
        *(_case(3, 16 * tiles - 3, 4, 16, family="late_max") for tiles in range(2, 34)),
        # more terms than a sum in 16 bits can hold, in every lane
        _case(3, 2403, 4, 16, dtype="float16", family="equal_terms"),
        _case(3, 2403, 4, 16, dtype="bfloat16", family="equal_terms"),
        _case(9, 200_003, 4, 2048, devices=GPU, family="ascending"),
        _case(517, 5003, 8, 512, devices=GPU, dtype="float16", family="ascending", layout="padded"),
        _case(5, 262_144, 1, 16384, devices=GPU, dtype="bfloat16", family="spike"),
        _case(100_003, 37, 32, 64, devices=GPU, family="masked"),
        _case(61, 200_003, 4, 2048, devices=TIMED, family="ascending"),
        _case(4099, 5003, 8, 512, devices=TIMED, dtype="float16", family="ascending", layout="padded"),
        _case(16, 262_144, 1, 16384, devices=TIMED, dtype="bfloat16", family="spike"),
        _case(1_000_003, 37, 32, 64, devices=TIMED, family="masked"),
    ),
    make=softmax_rows.make,
    reference=softmax_rows.reference,
    launch=softmax_rows.launch,
    budget=softmax_rows.reading_x(2, "x is read once for maximum and sum together, once for the result"),
    scale=softmax_rows.scale,
    tolerance=softmax_rows.TOLERANCE,
    hint=Hint(
        question="A tile holds 4 rows and 16 columns. How many maxima must you keep while you walk to the right? Along which axis of the tile "
        "does tl.max go, and what shape comes out? What shape must it have before you can subtract it from the tile?",
        idea="Everything from the last kernel stays, with a vector where a number was: m_i and l_i have shape [BLOCK_M], tl.max and tl.sum run "
        "along axis=1, and m[:, None] gives the vector a second axis to subtract along. The mask has two sides: rows below M and "
        "columns below N.",
        skeleton="pid = tl.program_id(0)\noffs_m = pid * BLOCK_M + tl.arange(0, BLOCK_M)\n"
        'm_i = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)\nl_i = ...\n'
        "for start_n in range(0, N, BLOCK_N):\n"
        "    offs_n = ...\n"
        "    mask = (...)[:, None] & (...)[None, :]\n"
        "    x = tl.load(... , mask=mask, other=...).to(tl.float32)\n"
        "    m_new = tl.maximum(m_i, tl.max(x, axis=1))\n"
        "    ...\n"
        "for start_n in range(0, N, BLOCK_N):\n"
        "    x = ...\n"
        "    tl.store(..., ..., mask=mask)",
    ),
    explanation="Each row of the tile runs its own online softmax; the rows share nothing but the loop. A vector holds the "
    "state, the reductions run along the columns, and [:, None] lays the vector against the tile. Short rows no "
    "longer leave most of a program's lanes idle, because BLOCK_M of them share one. The tile has two ragged "
    "edges, so the mask has two sides: a row past M would be written to memory outside y, and a column past N "
    "would enter the sum. The bytes are those of online softmax: 3·M·N elements.",
    film=FilmSpec(
        case=_case(5, 10, 2, 4, family="ascending"),
        diagram=matrices(softmax_rows.running(walks=1)),
        state={"m_i": "running max", "l_i": "running sum", "m_new": "new max"},
        choices={"M": (3, 5, 8), "N": (4, 7, 10, 13), "BLOCK_M": (1, 2, 4), "BLOCK_N": (2, 4, 8)},
    ),
    drawn=softmax_rows.drawn(
        lambda draw: {"BLOCK_M": draw.choice((1, 2, 4, 8, 16)), "BLOCK_N": draw.choice((8, 16, 32, 128))}
    ),
)
