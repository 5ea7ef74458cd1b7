"""gradients_by_atomics: the backward pass of attention in one kernel, in which several programs add to the same dQ.

In the two kernels that the learner writes, each program owns the sums it computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch

from checker.authoring import cdiv
from checker.course import attention_values as values
from checker.course.attention import attention_table, extended
from checker.course.attention_gradients import gradient, gradients, inputs
from checker.course.attention_heads import FLAGS, ONE_HEAD
from checker.course.diagrams import attention_dkdv
from checker.films.diagram import Band, Diagram, Drawn
from checker.puzzle import Case, FilmSpec, Launch, Scalar, Tensors


def make(case: Case) -> Tensors:
    """One head of one batch in which every key is visible: [1, 1, N, D] each. dq is always float32."""
    given = inputs(case)
    del given["key_lengths_ptr"]
    outputs = {name: torch.zeros_like(given["k_ptr"]) for name in ("dk_ptr", "dv_ptr")}
    return {**given, **outputs, "dq_ptr": torch.zeros(given["q_ptr"].shape, dtype=torch.float32)}


def reference(case: Case, inputs: Tensors) -> Tensors:
    lengths = torch.full((1,), case.sizes["N_KV"], dtype=torch.int32)
    every = gradients(case, {**inputs, "key_lengths_ptr": lengths})
    return {"dk_ptr": every.dk, "dv_ptr": every.dv, "dq_ptr": every.dq}


def queries(case: Case) -> int:
    """How many queries all programs load together."""
    return cdiv(case.sizes["N_KV"], case.meta["BLOCK_N"]) * case.sizes["N_Q"]


def query_rows(case: Case) -> int:
    return queries(case) * case.sizes["D"]


def stage() -> Diagram:
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


_FROM_ZERO = gradient(
    __file__,
    notebook="12_two_loops_back",
    grid=lambda n: (cdiv(n["N_KV"], n["BLOCK_N"]),),
    options=lambda n: {"num_warps": 4, "num_stages": 1},
    reads={
        **dict.fromkeys(("q", "do", "dq"), query_rows),
        **dict.fromkeys(("k", "v"), 1),
        **dict.fromkeys(("lse", "delta"), queries),
    },
    writes={"dk": 1, "dv": 1, "dq": query_rows},
    because={
        **dict.fromkeys(("q", "do", "lse", "delta"), "every program loops over all queries"),
        "k": "a tile of keys is loaded once and kept",
        "v": "a tile of values is loaded once and kept",
        **dict.fromkeys(("dk", "dv"), "written once, at the end"),
        "dq": "every program reads, adds and writes back its share of every number, in one atomic step",
    },
    make=make,
    reference=reference,
    cases=extended(
        attention_table("""
            N_Q   N_KV  D   BLOCK_M  BLOCK_N  values    dtype     layout  on
            64    64    16  16       16
            1     1     16  16       16
            37    53    32  16       32       negative
            50    20    16  32       16       positive  float16
            33    70    64  16       16       -         bfloat16
            1000  1031  64  32       32       -         float16   -       gpu
            512   2048  32  32       32       -         -         -       gpu
        """),
        ONE_HEAD,
        FLAGS,
    ),
    film=FilmSpec(
        case=Case(
            {**ONE_HEAD, "N_Q": 64, "N_KV": 64, "D": 16},
            {"BLOCK_M": 16, "BLOCK_N": 16},
            family=values.ramp,
            flags=FLAGS,
        ),
        diagram=stage(),
        state={"dk": "gradient of the keys", "dv": "gradient of the values", "dq": "share of the queries' gradient"},
    ),
)


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    """dQ has to start at 0. On a GPU that takes one more pass over it, before the kernel."""
    tensors["dq_ptr"].zero_()
    return _FROM_ZERO.launch(case, tensors, meta)


DEMONSTRATION = replace(_FROM_ZERO, launch=launch)
