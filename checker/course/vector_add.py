"""vector_add: z = x + y, one tile per program."""

from __future__ import annotations

import torch

from checker.authoring import Row, Space, cdiv, puzzle, table
from checker.authoring.space import ANY_REMAINDER, ROUND, length
from checker.course.diagrams import flowing
from checker.course.families import FAMILIES, constant, large, rows, zeros
from checker.course.tensors import AWKWARD, stored
from checker.puzzle import DTYPES, NORMAL, Case, Domain, FilmSpec, Tensors, Tolerance


def make(case: Case) -> Tensors:
    n = case.sizes["N"]
    x, y = (stored(row, case) for row in rows(case, 2, n))
    return {"x_ptr": x, "y_ptr": y, "z_ptr": torch.zeros(n, dtype=DTYPES[case.dtype])}


def from_row(row: Row) -> Case:
    n = length(row["tiles"] * row["block"], row["block"], row["last"])
    return Case({"N": n}, {"BLOCK_N": row["block"]}, row["dtype"], row["family"])


PUZZLE = puzzle(
    __file__,
    notebook="00_start_here",
    points=1,
    grid=lambda n: (cdiv(n["N"], n["BLOCK_N"]),),
    reads={"x": 1, "y": 1},
    writes={"z": 1},
    make=make,
    reference=lambda case, inputs: {"z_ptr": inputs["x_ptr"] + inputs["y_ptr"]},
    scale=lambda case, output, expected: expected.abs(),
    tolerance={
        "float32": Tolerance(rtol=3e-7, c=0.0),
        "float16": Tolerance(rtol=2.5e-3, c=0.0),
        "bfloat16": Tolerance(rtol=2e-2, c=0.0),
    },
    space=Space(
        {
            "tiles": (7, 1, 75, 2),
            "last": ("prime", "none", "one", "all but one"),
            "block": (16, 64, 1024, 2),
            "dtype": tuple(DTYPES),
            "family": (NORMAL, large, constant, zeros),
        },
        from_row,
        lambda row: row["block"] >= {"prime": 16, "all but one": 16, "half": 32}.get(row["last"], 2),
        once={"last": ROUND},
        wider={"tiles": range(1, 10), "last": ANY_REMAINDER, "block": (2, 4, 8, 32, 128, 512, 2048)},
        largest=({"tiles": 80, "block": 4096},),
    ),
    cases=table(
        """
        N           BLOCK_N  values    dtype     on
        41          16       smallest  float32   cpu
        41          16       smallest  float16   cpu
        41          16       smallest  bfloat16  cpu
        100_003     1024     -         -         gpu
        16_777_259  1024     -         -         gpu
        """,
        families=FAMILIES,
    )
    + tuple(Case({"N": n}, {"BLOCK_N": 2}) for n in AWKWARD),
    domain=Domain(
        sizes={"N": ()},
        tiles={"BLOCK_N": 2},
        values="any finite numbers whose sum is finite.",
        memory="x, y and z are contiguous.",
        accuracy="z is rounded once, to the type of x and y.",
    ),
    film=FilmSpec(
        case=Case({"N": 10}, {"BLOCK_N": 4}),
        diagram=flowing(x_ptr=("element",), y_ptr=("element",), z_ptr=("element",)),
        choices={"N": (7, 10, 16, 24), "BLOCK_N": (2, 4, 8)},
    ),
)
