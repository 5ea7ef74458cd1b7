"""online_softmax: maximum and sum of a row in one pass, so two passes over x."""

from __future__ import annotations

from checker.course.diagrams import matrices
from checker.course.families import ascending
from checker.course.softmax_rows import CHUNKS, IN_CHUNKS, rows_table, running, softmax
from checker.puzzle import Case, FilmSpec

PUZZLE = softmax(
    __file__,
    notebook="03_online_softmax",
    points=3,
    reads={"x": 2},
    because={"x": "x is read once for maximum and sum together, once for the result"},
    space=CHUNKS,
    cases=IN_CHUNKS
    + rows_table("""
        M     N        BLOCK_N  values              dtype     layout  on     why
        2     605      16       overflowing_sum     -         -       -      rescaled too rarely (lazy_rescale_up_to_88, lazy_rescale_up_to_85)
        2     522      4        creeping            bfloat16  -       -      the factor rounded to 16 bits (rounded_factor)
        8     200_003  4096     ascending           -         -       gpu
        5     262_144  16_384   spike               bfloat16  -       gpu
        515   5003     1024     ascending           float16   padded  gpu
        37    65_537   8192     first_chunk_masked  -         padded  gpu
        64    200_003  4096     ascending           -         -       timed
        16    262_144  16_384   spike               bfloat16  -       timed
        4096  5003     1024     ascending           float16   padded  timed
        257   65_537   8192     first_chunk_masked  -         padded  timed
    """),
    film=FilmSpec(
        case=Case({"M": 2, "N": 10}, {"BLOCK_N": 4}, family=ascending),
        diagram=matrices(running(passes=1)),
        state={"m_i": "running max", "l_i": "running sum", "m_new": "new max"},
        choices={"M": (1, 2, 4), "N": (4, 7, 10, 13), "BLOCK_N": (2, 4, 8)},
    ),
)
