"""double: y = 2 x, one tile per program."""

from __future__ import annotations

import torch

from checker.authoring import cdiv, puzzle, table
from checker.course.diagrams import flowing
from checker.course.families import rows
from checker.puzzle import DTYPES, Case, Domain, FilmSpec, Tensors, Tolerance


def make(case: Case) -> Tensors:
    x = rows(case, 1, case.sizes["N"])[0].to(DTYPES[case.dtype])
    return {"x_ptr": x, "y_ptr": torch.zeros_like(x)}


PUZZLE = puzzle(
    __file__,
    notebook="09_double",
    points=1,
    grid=lambda n: (cdiv(n["N"], n["BLOCK_N"]),),
    reads={"x": 1},
    writes={"y": 1},
    make=make,
    reference=lambda case, inputs: {"y_ptr": 2 * inputs["x_ptr"]},
    scale=lambda case, output, expected: expected.abs(),
    tolerance={"float32": Tolerance(rtol=3e-7, c=0.0), "float16": Tolerance(rtol=2.5e-3, c=0.0)},
    cases=table("""
        N   BLOCK_N  dtype
        32  16
        1   16
        17  16
        97  32       float16
    """),
    domain=Domain(
        sizes={"N": ()},
        tiles={"BLOCK_N": 16},
        values="any finite numbers whose double is finite.",
        memory="x and y are contiguous.",
        accuracy="y is rounded once, to the type of x.",
    ),
    film=FilmSpec(
        case=Case({"N": 10}, {"BLOCK_N": 4}),
        diagram=flowing(x_ptr=("element",), y_ptr=("element",)),
        choices={"N": (7, 10), "BLOCK_N": (4, 8)},
    ),
)
