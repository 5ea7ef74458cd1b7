"""vector_add: z = x + y, one tile per program."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import torch

from checker.course.covering import covering, length, smallest_first
from checker.course.diagrams import flowing
from checker.course.families import case_name, rows, stored
from checker.course.family_words import in_name
from checker.puzzle import (
    DTYPES,
    GPU,
    Allowance,
    Case,
    FilmSpec,
    Hint,
    Launch,
    Many,
    Puzzle,
    Scalar,
    Tensors,
    Tolerance,
)


def make(case: Case) -> Tensors:
    n = case.sizes["N"]
    values = rows(case, 2, n)
    return {
        "x_ptr": stored(values[0], case),
        "y_ptr": stored(values[1], case),
        "z_ptr": torch.zeros(n, dtype=DTYPES[case.dtype]),
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    return {"z_ptr": inputs["x_ptr"] + inputs["y_ptr"]}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    n = case.sizes["N"]
    return Launch(
        grid=(-(-n // int(meta["BLOCK_N"])),),
        arguments={**{name: tensors[name] for name in ("x_ptr", "y_ptr", "z_ptr")}, "N": n},
        meta=meta,
        outputs=("z_ptr",),
    )


def budget(case: Case) -> dict[str, Allowance]:
    vector = case.sizes["N"] * DTYPES[case.dtype].itemsize
    once = "every element is needed once"
    return {
        "x_ptr": Allowance(vector, 0, once),
        "y_ptr": Allowance(vector, 0, once),
        "z_ptr": Allowance(0, vector, "every element is written once"),
    }


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    return expected.abs()


def _case(n: int, block: int, **more: object) -> Case:
    dtype, family = str(more.get("dtype", "float32")), in_name(str(more.get("family", "normal")))
    return Case(case_name(f"N = {n}", f"tiles of {block}", dtype, family), {"N": n}, {"BLOCK_N": block}, **more)  # type: ignore[arg-type]


_FAMILIES = ("normal", "large", "constant", "zeros")


def _covered() -> tuple[Case, ...]:
    """Cases that cover all values in pairs: number of tiles, how full the last one is, BLOCK_N, dtype and family."""
    found = covering(
        {
            "tiles": (7, 1, 40, 2),
            "last": ("prime", "none", "one", "all but one"),
            "block": (16, 64, 1024),
            "dtype": tuple(DTYPES),
            "family": _FAMILIES,
        }
    )
    cases = []
    for row in found:
        n = length(row["tiles"] * row["block"], row["block"], row["last"])
        cases.append(_case(n, row["block"], dtype=row["dtype"], family=row["family"]))
    return smallest_first(cases)


def _drawn(draw: Random) -> tuple[Case, ...]:
    """Random cases. The last one is larger than any known case."""
    blocks = [draw.choice((8, 32, 128, 512, 2048)) for _ in range(5)]
    sizes = [(draw.randint(1, 9 * block), block) for block in blocks] + [(draw.randint(250_000, 300_000), 4096)]
    return tuple(
        _case(n, block, dtype=draw.choice(tuple(DTYPES)), family=draw.choice(_FAMILIES), seed=draw.getrandbits(32))
        for n, block in sizes
    )


PUZZLE = Puzzle(
    name="vector_add",
    title="Vector addition",
    kernel="vector_add_kernel",
    parameters=("x_ptr", "y_ptr", "z_ptr", "N", "BLOCK_N"),
    notebook="00_start_here",
    points=1,
    outputs=("z_ptr",),
    many=(Many(("x_ptr", "y_ptr", "z_ptr"), "N", "element", first=2**24),),  # where float32 skips numbers
    statement="z[i] = x[i] + y[i] for every i below N, one tile of BLOCK_N elements per program.",
    cases=(
        *_covered(),
        _case(70 * 8 - 3, 8),  # many programs
        _case(200_003, 1024),  # more than a fixed limit would allow
        _case(37, 8, dtype="bfloat16", family="large"),
        _case(48, 64),  # 16 divides every size, a tile divides none
        _case(100_003, 1024, devices=GPU),
        _case(16_777_259, 1024, devices=GPU),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=scale,
    tolerance={
        "float32": Tolerance(rtol=3e-7, c=0.0),
        "float16": Tolerance(rtol=2.5e-3, c=0.0),
        "bfloat16": Tolerance(rtol=2e-2, c=0.0),
    },
    hint=Hint(
        question="If BLOCK_N is 4, which elements does program 2 own? Write the four numbers down. Which of them exist if N is 10?",
        idea="`tl.program_id(0)` says which program you are; `pid * BLOCK_N + tl.arange(0, BLOCK_N)` are the elements it owns. "
        "A mask `offs_n < N` switches off the lanes past the end, in loads and in the store.",
        skeleton="pid = tl.program_id(0)\noffs_n = ...\nmask = ...\nx = tl.load(x_ptr + offs_n, mask=mask, other=0.0)\n"
        "y = ...\ntl.store(z_ptr + ..., ..., mask=mask)",
    ),
    explanation="Every program runs the same code; only `tl.program_id` differs, and from it each computes which tile it "
    "owns. The last tile usually passes the end, and the mask switches those lanes off, so nothing outside the "
    "vector is read or written. Each element is loaded once and stored once, which no kernel can beat.",
    film=FilmSpec(
        case=_case(10, 4),
        diagram=flowing(x_ptr=("element",), y_ptr=("element",), z_ptr=("element",)),
        choices={"N": (7, 10, 16, 24), "BLOCK_N": (2, 4, 8)},
    ),
    drawn=_drawn,
)
