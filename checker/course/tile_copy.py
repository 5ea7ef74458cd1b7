"""tile_copy: a copy of a matrix, in tiles that hold whole rows."""

from __future__ import annotations

from checker.authoring import cdiv, puzzle
from checker.course.diagrams import matrices
from checker.course.families import constant, large, negative
from checker.course.softmax_rows import HOLDS_ROW, columns_in_one_tile, make, row_space, rows_table
from checker.puzzle import NORMAL, Case, Domain, FilmSpec, Tolerance

PUZZLE = puzzle(
    __file__,
    notebook="04_tiled_softmax",
    points=1,
    grid=lambda n: (cdiv(n["M"], n["BLOCK_M"]),),
    options=lambda n: {"num_warps": min(32, max(4, n["BLOCK_M"] * n["BLOCK_N"] // 1024))},
    reads={"x": 1},
    writes={"y": 1},
    make=make,
    reference=lambda case, inputs: {"y_ptr": inputs["x_ptr"].clone()},
    scale=lambda case, output, expected: expected.abs(),
    tolerance={
        "float32": Tolerance(rtol=2**-25, c=0.0),
        "float16": Tolerance(rtol=2**-12, c=0.0),
        "bfloat16": Tolerance(rtol=2**-9, c=0.0),
    },
    space=row_space(
        tiles=((4, 16), (16, 8), (1, 4), (2, 128)),
        rows=(11, 1, 8),
        families=(NORMAL, large, negative, constant),
        columns=columns_in_one_tile,
        wider=tuple((m, n) for m in (1, 2, 4, 8, 16) for n in (2, 8, 16, 32, 128)),
        largest={"tile": (4, 512), "rows": 80, "remainder": 0.3},
    ),
    cases=rows_table("""
        M        N     BLOCK_M  BLOCK_N  values  dtype     layout  on
        5        3     2        4
        48       5     32       8
        70_001   37    32       64       -       -         -       gpu
        4099     781   4        1024     large   float16   padded  gpu
        1031     1000  8        1024     -       bfloat16  padded  gpu
    """),
    domain=Domain(
        sizes={"M": (), "N": ()},
        tiles={"BLOCK_M": 1, "BLOCK_N": 2},
        related=HOLDS_ROW,
        values="any finite numbers.",
        memory="a row's elements are adjacent. The rows of x and of y may be any distance apart, even so far that offsets pass 2³², and x "
        "may repeat one row, with a stride of 0.",
        accuracy="y is the same number as x.",
        expanded=("x",),
    ),
    film=FilmSpec(
        case=Case({"M": 5, "N": 6}, {"BLOCK_M": 2, "BLOCK_N": 8}),
        diagram=matrices(),
        choices={"M": (3, 5, 8), "N": (4, 6, 8), "BLOCK_M": (1, 2, 4), "BLOCK_N": (8, 16)},
    ),
)
