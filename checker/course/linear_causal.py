"""Causal linear attention: tensors with a state before and after, reference, launches and bytes, which several puzzles share."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from checker.course.linear_inputs import (
    State,
    causal_linear_attention,
    empty,
    past,
    queries_keys_values,
    rows,
    slices,
    strides,
)
from checker.puzzle import Allowance, Case, Launch, Scalar, Tensors

AXES = {"q": "hn", "k": "hn", "v": "hn", "o": "hn"}
STRIDES = tuple(f"stride_{name}{axis}" for name, axes in AXES.items() for axis in axes)
CARRIED = ("s0_ptr", "z0_ptr", "s_ptr", "z_ptr")
OUTPUTS = ("o_ptr", "s_ptr", "z_ptr")


def sizes(case: Case) -> tuple[int, int, int, int, int]:
    """B, H, N, D, D_V."""
    b, h, n, d, d_v = (case.sizes[name] for name in ("B", "H", "N", "D", "D_V"))
    return b, h, n, d, d_v


def chunks(case: Case) -> int:
    """How many chunks of CHUNK tokens the text has. The last one may be short."""
    return -(-case.sizes["N"] // case.meta["CHUNK"])


def make(case: Case) -> Tensors:
    b, h, n, d, d_v = sizes(case)
    q, k, v = queries_keys_values(case, (b, h, n, d), (b, h, n, d), d_v)
    before = past(case, (b, h), d, d_v)
    return {
        "q_ptr": q,
        "k_ptr": k,
        "v_ptr": v,
        "o_ptr": empty(case, v.shape),
        "s0_ptr": before.s,
        "z0_ptr": before.z,
        "s_ptr": torch.zeros_like(before.s),
        "z_ptr": torch.zeros_like(before.z),
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    before = State(inputs["s0_ptr"], inputs["z0_ptr"])
    o, after = causal_linear_attention(inputs["q_ptr"], inputs["k_ptr"], inputs["v_ptr"], before)
    return {"o_ptr": o, "s_ptr": after.s, "z_ptr": after.z}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    """One program for each (head of a batch, slice of the values)."""
    b, h, n, d, d_v = sizes(case)
    return Launch(
        grid=(b * h, -(-d_v // int(meta["BLOCK_V"]))),
        arguments={**tensors, **strides(tensors, AXES), "N": n, "D_V": d_v},
        meta={**meta, "D": d},
        outputs=OUTPUTS,
        options={"num_warps": 4, "num_stages": 2},
    )


def launch_chunks(
    case: Case, tensors: Tensors, meta: Mapping[str, Scalar], axes: dict[str, str], outputs: tuple[str, ...]
) -> Launch:
    """One program for each (chunk, head of a batch, slice of the values). CHUNK is always the case's, since states depend on it."""
    b, h, n, d, d_v = sizes(case)
    return Launch(
        grid=(chunks(case), b * h, -(-d_v // int(meta["BLOCK_V"]))),
        arguments={**tensors, **strides(tensors, axes), "N": n, "N_CHUNKS": chunks(case), "D_V": d_v},
        meta={**meta, "CHUNK": case.meta["CHUNK"], "D": d},
        outputs=outputs,
        options={"num_warps": 4, "num_stages": 2},
    )


def budget(case: Case) -> dict[str, Allowance]:
    b, h, n, d, d_v = sizes(case)
    heads = b * h
    token = "each program reads every token once"
    first = "where the text starts from, read once"
    last = "the state is written once, at the end: between tokens it stays on chip"
    return {
        "q_ptr": Allowance(slices(case) * rows(case, n, d), 0, token),
        "k_ptr": Allowance(slices(case) * rows(case, n, d), 0, token),
        "v_ptr": Allowance(rows(case, n, d_v), 0, token),
        "o_ptr": Allowance(0, rows(case, n, d_v), "each output is written once and never read"),
        "s0_ptr": Allowance(heads * d * d_v * 4, 0, first),
        "z0_ptr": Allowance(slices(case) * heads * d * 4, 0, first),
        "s_ptr": Allowance(0, heads * d * d_v * 4, last),
        "z_ptr": Allowance(0, heads * d * 4, last),
    }
