"""row_softmax: the softmax of rows that fit in one tile."""

from __future__ import annotations

from dataclasses import replace

from checker.course.diagrams import matrices
from checker.course.families import (
    chunk_pairs,
    chunk_pairs_in_sight,
    constant,
    extreme,
    levels,
    lowest,
    masked,
    negative,
)
from checker.course.softmax_rows import DOMAIN, HOLDS_ROW, one_tile_space, one_tile_warps, rows_table, softmax
from checker.course.tensors import AWKWARD
from checker.puzzle import NORMAL, Case, FilmSpec

PUZZLE = softmax(
    __file__,
    notebook="01_row_softmax",
    points=2,
    reads={"x": 1},
    because={"x": "the row stays on chip, so x is read once"},
    options=one_tile_warps,
    domain=replace(DOMAIN, tiles={"BLOCK_N": 1}, related=HOLDS_ROW),
    space=one_tile_space((chunk_pairs_in_sight, masked, extreme, lowest, levels, chunk_pairs, NORMAL, constant)),
    cases=rows_table("""
        M       N       BLOCK_N  values                dtype     layout  on     why
        1       40_003  65_536   -                     -         -       cpu    more lanes than 16 bits can count (int16_lanes)
        1       65_537  131_072  constant              float16   -       cpu    a sum that float16 cannot hold (sum_in_output_type)
        3       37      64       creeping              -         -       -      weights taken for equal (flat_rows)
        70_001  37      64       negative              -         -       gpu
        131     16_384  16_384   -                     -         -       gpu
        130     12_289  16_384   -                     float16   padded  gpu
        130     12_289  16_384   -                     bfloat16  -       gpu
        4096    781     1024     negative              -         -       timed
        1031    16_384  16_384   -                     -         -       timed
        512     12_289  16_384   -                     float16   padded  timed
        512     12_289  16_384   -                     bfloat16  -       timed
    """)
    + tuple(Case({"M": 3, "N": n}, {"BLOCK_N": 64}, family=negative) for n in AWKWARD),
    film=FilmSpec(
        case=Case({"M": 4, "N": 7}, {"BLOCK_N": 8}),
        diagram=matrices(),
        state={"m_i": "maximum of the row", "l_i": "sum of exponentials"},
        choices={"M": (2, 4, 6), "N": (5, 7, 8, 13), "BLOCK_N": (8, 16)},
    ),
)
