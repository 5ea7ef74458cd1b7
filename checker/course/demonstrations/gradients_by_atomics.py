"""gradients_by_atomics: the backward pass of attention in one kernel, in which several programs add to the same dQ.

In the two kernels that the learner writes, each program owns the sums it computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from checker.authoring import puzzle
from checker.course.attention_gradients import TOLERANCE, gradients, inputs, scale
from checker.course.attention_heads import heads_case
from checker.course.attention_inputs import scale_of
from checker.course.diagrams import attention_dkdv
from checker.films.diagram import Band, Diagram, Drawn
from checker.puzzle import DTYPES, GPU, Allowance, Case, FilmSpec, Launch, Scalar, Tensors


def make(case: Case) -> Tensors:
    """One head of one batch in which every key is visible: [1, 1, N, D] each. dq is always float32."""
    given = inputs(case)
    del given["key_lengths_ptr"]
    outputs = {name: torch.zeros_like(given["k_ptr"]) for name in ("dk_ptr", "dv_ptr")}
    return {**given, **outputs, "dq_ptr": torch.zeros(given["q_ptr"].shape, dtype=torch.float32)}


def reference(case: Case, inputs: Tensors) -> Tensors:
    lengths = torch.full((1,), case.sizes["N_KV"], dtype=torch.int32)
    found = gradients(case, {**inputs, "key_lengths_ptr": lengths})
    return {"dk_ptr": found.dk, "dv_ptr": found.dv, "dq_ptr": found.dq}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    """dQ has to start at 0. On a GPU that takes one more pass over it, before the kernel."""
    tensors["dq_ptr"].zero_()
    return Launch(
        grid=(_programs(case, meta),),
        arguments={**tensors, "scale": scale_of(case), "N_Q": case.sizes["N_Q"], "N_KV": case.sizes["N_KV"]},
        meta={**meta, "D": case.sizes["D"]},
        outputs=("dk_ptr", "dv_ptr", "dq_ptr"),
        options={"num_warps": 4, "num_stages": 1},
    )


def budget(case: Case) -> dict[str, Allowance]:
    n_q, n_kv, d = (case.sizes[name] for name in ("N_Q", "N_KV", "D"))
    row, programs = d * DTYPES[case.dtype].itemsize, _programs(case, case.meta)
    every = "every program walks over all queries"
    return {
        "q_ptr": Allowance(programs * n_q * row, 0, every),
        "k_ptr": Allowance(n_kv * row, 0, "a tile of keys is loaded once and kept"),
        "v_ptr": Allowance(n_kv * row, 0, "a tile of values is loaded once and kept"),
        "do_ptr": Allowance(programs * n_q * row, 0, every),
        "lse_ptr": Allowance(programs * n_q * 4, 0, every),
        "delta_ptr": Allowance(programs * n_q * 4, 0, every),
        "dk_ptr": Allowance(0, n_kv * row, "written once, at the end"),
        "dv_ptr": Allowance(0, n_kv * row, "written once, at the end"),
        "dq_ptr": Allowance(
            *(programs * n_q * d * 4,) * 2,
            "every program reads, adds and writes back its share of every number, in one atomic step",
        ),
    }


def _programs(case: Case, meta: Mapping[str, Scalar]) -> int:
    return -(-case.sizes["N_KV"] // int(meta["BLOCK_N"]))


def _stage() -> Diagram:
    """The diagram of the kernel for dK and dV, with dQ above it along the queries."""
    stage = attention_dkdv()
    if stage.square is None:
        raise TypeError("the stage of dK and dV has no square")
    tensors = {name: drawn for name, drawn in stage.tensors.items() if name != "key_lengths_ptr"}
    share = "a share of dq[{columns}]: ds[{rows}] · k[{rows}]"
    return replace(
        stage,
        tensors={"dq_ptr": Drawn(("query", "gradient")), **tensors},
        down=(Band("gradient", 44), *stage.down),
        square=replace(stage.square, products={**stage.square.products, "dq": share}),
    )


def _case(n_q: int, n_kv: int, d: int, block: tuple[int, int], **more: Any) -> Case:
    return heads_case(1, (1, 1), (n_q, n_kv), d, block, **more)


DEMONSTRATION = puzzle(
    __file__,
    notebook="09_two_loops_back",
    points=0,
    outputs=("dk_ptr", "dv_ptr", "dq_ptr"),
    cases=(
        _case(64, 64, 16, (16, 16)),
        _case(1, 1, 16, (16, 16)),
        _case(37, 53, 32, (16, 32), family="negative"),
        _case(50, 20, 16, (32, 16), dtype="float16", family="positive"),
        _case(33, 70, 64, (16, 16), dtype="bfloat16"),
        _case(1000, 1031, 64, (32, 32), devices=GPU, dtype="float16"),
        _case(512, 2048, 32, (32, 32), devices=GPU),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=scale,
    tolerance=TOLERANCE,
    film=FilmSpec(
        case=_case(64, 64, 16, (16, 16), family="ramp"),
        diagram=_stage(),
        state={"dk": "gradient of the keys", "dv": "gradient of the values", "dq": "share of the queries' gradient"},
    ),
)
