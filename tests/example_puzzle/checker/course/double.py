"""double: what is asked, how it is launched, what it may move."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from checker.course.diagrams import flowing
from checker.course.families import rows
from checker.puzzle import DTYPES, Allowance, Case, FilmSpec, Hint, Launch, Puzzle, Scalar, Tensors, Tolerance


def make(case: Case) -> Tensors:
    x = rows(case, 1, case.sizes["N"])[0].to(DTYPES[case.dtype])
    return {"x_ptr": x, "y_ptr": torch.zeros_like(x)}


def reference(case: Case, inputs: Tensors) -> Tensors:
    return {"y_ptr": 2 * inputs["x_ptr"]}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    n = case.sizes["N"]
    return Launch(
        grid=(-(-n // int(meta["BLOCK_N"])),),
        arguments={"x_ptr": tensors["x_ptr"], "y_ptr": tensors["y_ptr"], "N": n},
        meta=meta,
        outputs=("y_ptr",),
    )


def budget(case: Case) -> dict[str, Allowance]:
    vector = case.sizes["N"] * DTYPES[case.dtype].itemsize
    return {
        "x_ptr": Allowance(vector, 0, "every element is needed once"),
        "y_ptr": Allowance(0, vector, "every element is written once"),
    }


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    return expected.abs()


def _case(n: int, block: int, dtype: str = "float32") -> Case:
    return Case(f"N = {n}, BLOCK_N = {block}, {dtype}", {"N": n}, {"BLOCK_N": block}, dtype)


PUZZLE = Puzzle(
    name="double",
    title="Doubling",
    kernel="double_kernel",
    parameters=("x_ptr", "y_ptr", "N", "BLOCK_N"),
    notebook="09_double",
    points=1,
    outputs=("y_ptr",),
    statement="y[i] = 2 x[i] for every i below N, one tile of BLOCK_N elements per program.",
    cases=(_case(32, 16), _case(1, 16), _case(17, 16), _case(97, 32, "float16")),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=scale,
    tolerance={"float32": Tolerance(rtol=3e-7, c=0.0), "float16": Tolerance(rtol=2.5e-3, c=0.0)},
    hint=Hint(
        question="If BLOCK_N is 4, which elements does program 2 own?",
        idea="`tl.program_id(0)` says which program you are, and a mask switches off the lanes past the end.",
        skeleton="offs_n = ...\nmask = ...\nx = ...\ntl.store(y_ptr + offs_n, ..., mask=mask)",
    ),
    explanation="Each element is loaded once and stored once, which no kernel can beat.",
    film=FilmSpec(
        case=_case(10, 4),
        diagram=flowing(x_ptr=("element",), y_ptr=("element",)),
        choices={"N": (7, 10), "BLOCK_N": (4, 8)},
    ),
)
