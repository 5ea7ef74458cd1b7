"""chunked_softmax: the softmax of long rows in chunks, with three passes over x."""

from __future__ import annotations

from checker.course.diagrams import matrices
from checker.course.softmax_rows import CHUNKS, IN_CHUNKS, rows_table, running, softmax
from checker.puzzle import Case, FilmSpec

PUZZLE = softmax(
    __file__,
    notebook="02_chunked_softmax",
    points=2,
    reads={"x": 3},
    because={"x": "x is read once for the maximum, once for the sum, once for the result"},
    space=CHUNKS,
    cases=IN_CHUNKS
    + rows_table("""
        M     N        BLOCK_N  values     dtype     layout  on
        8     200_003  4096     -          -         -       gpu
        5     262_144  16_384   spike      bfloat16  -       gpu
        515   5003     1024     ascending  float16   padded  gpu
        37    65_537   8192     deep       -         padded  gpu
        64    200_003  4096     -          -         -       timed
        16    262_144  16_384   spike      bfloat16  -       timed
        4096  5003     1024     ascending  float16   padded  timed
        257   65_537   8192     deep       -         padded  timed
    """),
    film=FilmSpec(
        case=Case({"M": 3, "N": 10}, {"BLOCK_N": 4}),
        diagram=matrices(running(passes=2)),
        state={"m_i": "maximum so far", "l_i": "sum so far"},
        choices={"M": (1, 3, 4), "N": (4, 7, 10, 13), "BLOCK_N": (2, 4, 8)},
    ),
)
