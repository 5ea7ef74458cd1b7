"""tiled_softmax: online softmax of several rows at once, in tiles."""

from __future__ import annotations

from dataclasses import replace

from checker.course.diagrams import matrices
from checker.course.families import ascending
from checker.course.softmax_rows import (
    CHUNKED,
    DOMAIN,
    columns_in_chunks,
    lengths_one_by_one,
    row_space,
    rows_table,
    running,
    softmax,
)
from checker.puzzle import Case, FilmSpec

PUZZLE = softmax(
    __file__,
    notebook="04_tiled_softmax",
    points=3,
    domain=replace(DOMAIN, tiles={"BLOCK_M": 1, "BLOCK_N": 2}),
    reads={"x": 2},
    because={"x": "x is read once for maximum and sum together, once for the result"},
    space=row_space(
        tiles=((4, 16), (16, 8), (1, 2), (2, 1024)),
        rows=(11, 1, 8),
        families=CHUNKED,
        columns=columns_in_chunks,
        wider=tuple((m, n) for m in (1, 2, 4, 8, 16) for n in (2, 8, 16, 32, 128)),
        largest={"tile": (4, 2048), "rows": 76, "chunks": 20},
    ),
    cases=rows_table("""
        M          N        BLOCK_M  BLOCK_N  values                dtype     layout  on     why
        2          33_003   2        1024     -                     -         -       -      more columns than 16 bits can count (columns_in_16_bits)
        2          33_001   2        1024     many_below
        2          70_001   2        2048     overflowing_sum       float16
        9          157      4        16       negative
        3          605      4        16       climbing              -         -       -      rescaled by the last rise alone (last_rise)
        3          522      2        4        creeping              bfloat16  -       -      the factor rounded to 16 bits (rounded_factor)
        9          200_003  4        2048     ascending             -         -       gpu
        517        5003     8        512      ascending             float16   padded  gpu
        5          262_144  1        16_384   spike                 bfloat16  -       gpu
        100_003    37       32       64       masked                -         -       gpu
        61         200_003  4        2048     ascending             -         -       timed
        4099       5003     8        512      ascending             float16   padded  timed
        16         262_144  1        16_384   spike                 bfloat16  -       timed
        1_000_003  37       32       64       masked                -         -       timed
    """)
    + lengths_one_by_one(3, {"BLOCK_M": 2}),
    film=FilmSpec(
        case=Case({"M": 5, "N": 10}, {"BLOCK_M": 2, "BLOCK_N": 4}, family=ascending),
        diagram=matrices(running(passes=1)),
        state={"m_i": "running max", "l_i": "running sum", "m_new": "new max"},
        choices={"M": (3, 5, 8), "N": (4, 7, 10, 13), "BLOCK_M": (1, 2, 4), "BLOCK_N": (2, 4, 8)},
    ),
)
