"""linear_state_prefix: the state that each chunk starts from, as a prefix sum of what each chunk adds."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import torch

from checker.authoring import puzzle
from checker.authoring.covering import covering
from checker.course.contributions import NUMBERS, contributions
from checker.course.diagrams import PREFIX
from checker.course.family_words import case_of
from checker.course.linear_cases import columns
from checker.course.linear_inputs import magnitude
from checker.course.tensors import generator
from checker.puzzle import (
    GPU,
    Allowance,
    Case,
    FilmSpec,
    Launch,
    Many,
    Scalar,
    Tensors,
    Tolerance,
)


def _sizes(case: Case) -> tuple[int, int, int]:
    """G, N_CHUNKS, SIZE."""
    return case.sizes["G"], case.sizes["N_CHUNKS"], case.sizes["SIZE"]


def make(case: Case) -> Tensors:
    """x [G, N_CHUNKS, SIZE] and x0 [G, SIZE] of the case's family, float32. Raises ValueError for an unknown family."""
    g, n_chunks, size = _sizes(case)
    draw = generator(case)
    x, x0 = torch.randn(g, n_chunks, size, generator=draw) + 1.0, torch.randn(g, size, generator=draw) + 2.0
    match case.family.name:
        case "normal":
            pass
        case "contributions":  # each number goes through all pairs of kinds, in another order; half start from 0
            i = torch.arange(g * size)
            before = x0.flatten().masked_fill(i % 2 == 0, 0.0)
            start = torch.where(i % 4 < 2, 1.0, -1.0) * (1 + torch.rand(g * size, generator=draw))
            added = contributions(NUMBERS, [1] * n_chunks, before, start, 1e30, draw.initial_seed())
            x, x0 = added.unflatten(0, (g, size)).mT.contiguous().float(), before.unflatten(0, (g, size))
        case "counting":  # chunk c of every group adds c + 1, group g starts from 10 (g + 1): easy to check by eye
            x = (torch.arange(n_chunks) + 1.0)[None, :, None].repeat(g, 1, size)
            x0 = ((torch.arange(g) + 1.0) * 10)[:, None].repeat(1, size)
        case "blanks":  # chunks of zeros, and chunks whose numbers add up to 0
            x[:, 1::4], x[:, 2::4] = 0.0, 1.0 - 2.0 * (torch.arange(size) % 2)
        case "dwarfing":  # every eighth number dwarfs what is added to the others
            x0[:, ::8] = 1e9
        case "huge":  # sums that float16 cannot hold
            x, x0 = 1e5 * x, 1e5 * x0
        case other:
            raise ValueError(f"no family of chunks' states is called {other!r}")
    return {"x_ptr": x, "x0_ptr": x0, "start_ptr": torch.zeros_like(x), "end_ptr": torch.zeros_like(x0)}


def reference(case: Case, inputs: Tensors) -> Tensors:
    after = inputs["x0_ptr"][:, None] + inputs["x_ptr"].cumsum(dim=1)
    return {"start_ptr": torch.cat([inputs["x0_ptr"][:, None], after[:, :-1]], dim=1), "end_ptr": after[:, -1]}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    g, n_chunks, size = _sizes(case)
    return Launch(
        grid=(-(-size // int(meta["BLOCK_SIZE"])), g),
        arguments={**tensors, "N_CHUNKS": n_chunks, "SIZE": size},
        meta=meta,
        outputs=("start_ptr", "end_ptr"),
        options={"num_warps": 4},
    )


def budget(case: Case) -> dict[str, Allowance]:
    g, n_chunks, size = _sizes(case)
    return {
        "x_ptr": Allowance(g * n_chunks * size * 4, 0, "what a chunk adds is needed once"),
        "x0_ptr": Allowance(g * size * 4, 0, "where the text starts from, read once"),
        "start_ptr": Allowance(0, g * n_chunks * size * 4, "each start is written once: the running sum stays on chip"),
        "end_ptr": Allowance(0, g * size * 4, "the end is written once"),
    }


def _case(g: int, n_chunks: int, size: int, block: int, **more: Any) -> Case:
    return case_of({"G": g, "N_CHUNKS": n_chunks, "SIZE": size}, {"BLOCK_SIZE": block}, **more)


def _covered() -> tuple[Case, ...]:
    """Cases that cover all values in pairs: family, number of chunks, how full the tiles are, BLOCK_SIZE and number of groups."""
    factors = {
        "family": ("contributions", "normal", "counting"),
        "chunks": (12, 6, 1, 2, 5),
        "numbers": ("one more", "full", "all but one", "all", "one"),
        "block": (16, 8, 64),
        "groups": (2, 1, 5),
    }
    found = covering(factors, lambda row: row["family"] != "contributions" or row["chunks"] >= 6)
    return tuple(
        _case(row["groups"], row["chunks"], columns(row["numbers"], row["block"]), row["block"], family=row["family"])
        for row in found
    )


def _drawn(draw: Random) -> tuple[Case, ...]:
    """Random cases. The last one is larger than any known case."""
    found = []
    for large in (False,) * 5 + (True,):
        block = draw.choice((8, 16, 32, 64, 128))
        chunks = draw.randint(540, 580) if large else draw.randint(1, 14)
        size = draw.randint(150, 220) if large else draw.randint(1, 4 * block)
        family = "normal" if large else draw.choice(("contributions", "contributions", "normal", "huge"))
        seed = draw.getrandbits(32)
        found.append(_case(1 if large else draw.randint(1, 4), chunks, size, block, family=family, seed=seed))
    return tuple(found)


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """The magnitude of a row, or of the number itself in families where neighbouring numbers differ by orders of magnitude."""
    return expected.abs() if case.family.name in ("contributions", "dwarfing") else magnitude(case, output, expected)


PUZZLE = puzzle(
    __file__,
    notebook="12_few_heads",
    points=2,
    outputs=("start_ptr", "end_ptr"),
    many=(Many(("x_ptr", "x0_ptr", "start_ptr", "end_ptr"), "G", "group", grid=1, first=None),),
    cases=(
        *_covered(),
        _case(2, 531, 7, 8),  # more chunks than a fixed limit would allow
        _case(3, 65, 600, 64),  # 60,000 groups of so many numbers pass 2³¹
        _case(1, 16, 48, 32),  # 16 divides every size, a tile divides none
        _case(1, 2, 523, 8, family="counting"),
        _case(2, 13, 24, 8, family="blanks"),
        _case(2, 5, 24, 8, family="dwarfing"),
        _case(2, 12, 24, 16, family="huge"),
        _case(1, 17, 17, 64, family="huge"),
        # for mistakes that show in few cases only
        _case(2, 70, 1, 16),
        _case(2, 5, 1100, 64),
        _case(3, 3, 70 * 8 + 3, 8),
        # added for mistakes that only a GPU's larger cases had shown
        _case(2, 70, 200, 64),
        _case(1, 1, 65_536, 256, devices=GPU),
        _case(4, 1024, 4096, 128, devices=GPU),  # the states of 65,536 tokens of four heads, in chunks of 64
        _case(4, 1024, 64, 64, devices=GPU),  # and their z
        _case(3, 12, 12_289, 1024, devices=GPU, family="contributions"),
        _case(1000, 7, 333, 64, devices=GPU, family="counting"),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=scale,
    # a sum of n numbers in float32 is off by n half steps at most, and by about √n of them in truth: 1024 chunks stay below 2e-6.
    # Who takes a chunk out of a sum again to have its start loses 1000 half steps, 6e-5, where that chunk is a thousand times as large
    tolerance={"float32": Tolerance(rtol=2e-4, c=64.0)},
    film=FilmSpec(
        case=_case(2, 5, 24, 16, family="counting"),
        diagram=PREFIX,
        state={"state": "running sum"},
        choices={"N_CHUNKS": (3, 5, 8), "SIZE": (16, 24), "BLOCK_SIZE": (8, 16)},
    ),
    drawn=_drawn,
)
