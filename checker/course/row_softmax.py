"""row_softmax: the softmax of rows that fit in one tile."""

from __future__ import annotations

from checker.course.diagrams import matrices
from checker.course.families import chunk_pairs, chunk_pairs_in_sight, constant, extreme, masked
from checker.course.softmax_rows import one_tile_space, one_tile_warps, rows_table, softmax
from checker.puzzle import NORMAL, Case, FilmSpec

PUZZLE = softmax(
    __file__,
    notebook="01_row_softmax",
    points=2,
    reads={"x": 1},
    because={"x": "the row stays on chip, so x is read once"},
    options=one_tile_warps,
    space=one_tile_space((chunk_pairs_in_sight, masked, extreme, chunk_pairs, NORMAL, constant)),
    cases=rows_table("""
        M       N       BLOCK_N  values                dtype     layout  on     why
        67      7       8        chunk_pairs_in_sight  -         padded  -      many programs
        2       5003    8192     -                     -         -       -      more columns than a fixed limit would allow
        1       12_289  16_384   -                     -         padded
        1       40_003  65_536   -                     -         -       cpu    more lanes than 16 bits can count
        3       61      64       nearly_constant
        2       4096    4096     -                     -         padded  -      a round number of columns, and rows further apart
        3       16      16       deep                  bfloat16
        3       16      16       positive              bfloat16
        2       48      64       -                     -         -       -      16 divides every size, a tile divides none
        3       61      64       utmost                -         -       cpu
        70      1       1        -                     -         -       -      many programs of one element
        3       64      64       one_hot               bfloat16
        9       2050    4096     chunk_pairs           float16   padded
        70_001  37      64       negative              -         -       gpu
        131     16_384  16_384   -                     -         -       gpu
        130     12_289  16_384   -                     float16   padded  gpu
        130     12_289  16_384   -                     bfloat16  -       gpu
        4096    781     1024     negative              -         -       timed
        1031    16_384  16_384   -                     -         -       timed
        512     12_289  16_384   -                     float16   padded  timed
        512     12_289  16_384   -                     bfloat16  -       timed
    """),
    film=FilmSpec(
        case=Case({"M": 4, "N": 7}, {"BLOCK_N": 8}),
        diagram=matrices(),
        state={"m_i": "maximum of the row", "l_i": "sum of exponentials"},
        choices={"M": (2, 4, 6), "N": (5, 7, 8, 13), "BLOCK_N": (8, 16)},
    ),
)
