"""linear_state_prefix: from what each chunk adds to what each chunk starts from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from checker.course.families import generator
from checker.course.linear_inputs import GPU, magnitude
from checker.puzzle import Allowance, Carried, Case, FilmSpec, Hint, Launch, Puzzle, Scalar, Tensors, Tolerance


def _sizes(case: Case) -> tuple[int, int, int]:
    """G, N_CHUNKS, SIZE."""
    return case.sizes["G"], case.sizes["N_CHUNKS"], case.sizes["SIZE"]


def make(case: Case) -> Tensors:
    g, n_chunks, size = _sizes(case)
    draw = generator(case)
    x, x0 = torch.randn(g, n_chunks, size, generator=draw) + 1.0, torch.randn(g, size, generator=draw) + 2.0
    return {"x_ptr": x, "x0_ptr": x0, "start_ptr": torch.zeros_like(x), "end_ptr": torch.zeros_like(x0)}


def reference(case: Case, inputs: Tensors) -> Tensors:
    after = inputs["x0_ptr"][:, None] + inputs["x_ptr"].cumsum(dim=1)
    return {"start_ptr": torch.cat([inputs["x0_ptr"][:, None], after[:, :-1]], dim=1), "end_ptr": after[:, -1]}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    g, n_chunks, size = _sizes(case)
    return Launch(
        grid=(-(-size // int(meta["BLOCK"])), g),
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
    name = f"{g} × {n_chunks} chunks × {size} numbers, BLOCK = {block}"
    return Case(name, {"G": g, "N_CHUNKS": n_chunks, "SIZE": size}, {"BLOCK": block}, **more)


PUZZLE = Puzzle(
    name="linear_state_prefix",
    title="A prefix over states",
    kernel="linear_state_prefix_kernel",
    parameters=("x_ptr", "x0_ptr", "start_ptr", "end_ptr", "N_CHUNKS", "SIZE", "BLOCK"),
    notebook="08_linear_attention",
    points=2,
    outputs=("start_ptr", "end_ptr"),
    statement="?",
    cases=(
        _case(1, 4, 16, 16),
        _case(3, 5, 37, 16),
        _case(8, 1024, 4096, 256, devices=GPU),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=magnitude,
    tolerance={"float32": Tolerance(rtol=1e-4, c=64.0)},
    hint=Hint(question="?", idea="?", skeleton="?"),
    explanation="?",
    film=FilmSpec(
        case=_case(2, 5, 24, 16),
        tensors=("x_ptr", "x0_ptr", "start_ptr", "end_ptr"),
        state={"state": "running sum"},
        choices={"N_CHUNKS": (3, 5, 8), "SIZE": (16, 24), "BLOCK": (8, 16)},
        carried=Carried(added="x_ptr", start=("x0_ptr",), end=("end_ptr",), chunks=("start_ptr",)),
    ),
)
