"""causal_linear_attention_parallel: the outputs of every chunk, all chunks at once, each from the state it starts from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from checker.course.linear_causal import AXES, STRIDES
from checker.course.linear_causal import sizes as _sizes
from checker.course.linear_inputs import (
    GPU,
    TOLERANCE,
    State,
    add,
    causal_linear_attention,
    described,
    feature_map,
    magnitude,
    past,
    queries_keys_values,
    rows,
    slices,
    strides,
)
from checker.puzzle import Allowance, Carried, Case, FilmSpec, Hint, Launch, Puzzle, Scalar, Scores, Tensors


def _chunks(case: Case) -> int:
    return -(-case.sizes["N"] // case.meta["CHUNK"])


def _starts(case: Case, k: torch.Tensor, v: torch.Tensor) -> State:
    """s [B, H, N_CHUNKS, D, D_V] and z [B, H, N_CHUNKS, D], float32: the state before each chunk."""
    b, h, _, d, d_v = _sizes(case)
    state = past(case, (b, h), d, d_v)
    state, starts = State(state.s.double(), state.z.double()), []
    for part_k, part_v in zip(
        k.double().split(case.meta["CHUNK"], dim=-2), v.double().split(case.meta["CHUNK"], dim=-2), strict=True
    ):
        starts.append(state)
        state = add(state, feature_map(part_k), part_v)
    return State(torch.stack([s.s for s in starts], dim=2).float(), torch.stack([s.z for s in starts], dim=2).float())


def make(case: Case) -> Tensors:
    b, h, n, d, d_v = _sizes(case)
    q, k, v = queries_keys_values(case, (b, h, n, d), (b, h, n, d), d_v)
    starts = _starts(case, k, v)
    return {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": torch.zeros_like(v), "s_ptr": starts.s, "z_ptr": starts.z}


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Each chunk from the state it was given, whatever that is."""
    chunk, outputs = case.meta["CHUNK"], []
    for c in range(_chunks(case)):
        q, k, v = (inputs[name][:, :, c * chunk : (c + 1) * chunk] for name in ("q_ptr", "k_ptr", "v_ptr"))
        outputs.append(causal_linear_attention(q, k, v, State(inputs["s_ptr"][:, :, c], inputs["z_ptr"][:, :, c]))[0])
    return {"o_ptr": torch.cat(outputs, dim=2)}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    """One program for each (chunk, head of a batch, slice of the values). A chunk is as long as the case says, always."""
    b, h, n, d, d_v = _sizes(case)
    return Launch(
        grid=(_chunks(case), b * h, -(-d_v // int(meta["BLOCK_V"]))),
        arguments={**tensors, **strides(tensors, AXES), "N": n, "N_CHUNKS": _chunks(case), "D_V": d_v},
        meta={**meta, "CHUNK": case.meta["CHUNK"], "D": d},
        outputs=("o_ptr",),
        options={"num_warps": 4, "num_stages": 2},
    )


def budget(case: Case) -> dict[str, Allowance]:
    b, h, n, d, d_v = _sizes(case)
    once, states = "each program reads its chunk once", b * h * _chunks(case) * d * 4
    return {
        "q_ptr": Allowance(slices(case) * rows(case, n, d), 0, once),
        "k_ptr": Allowance(slices(case) * rows(case, n, d), 0, once),
        "v_ptr": Allowance(rows(case, n, d_v), 0, once),
        "o_ptr": Allowance(0, rows(case, n, d_v), "each output is written once and never read"),
        "s_ptr": Allowance(states * d_v, 0, "the state that the chunk starts from, read once"),
        "z_ptr": Allowance(slices(case) * states, 0, "its sum of features, read once"),
    }


def _case(b: int, h: int, n: int, d: tuple[int, int], block: tuple[int, int], **more: Any) -> Case:
    name = (
        f"{b} × {h} heads, {n} tokens, D = {d[0]}, D_V = {d[1]}, chunks of {block[0]}, slices of {block[1]}"
        + described(more)
    )
    return Case(
        name, {"B": b, "H": h, "N": n, "D": d[0], "D_V": d[1]}, {"CHUNK": block[0], "BLOCK_V": block[1]}, **more
    )


PUZZLE = Puzzle(
    name="causal_linear_attention_parallel",
    title="All chunks at once",
    kernel="causal_linear_attention_parallel_kernel",
    parameters=(
        "q_ptr",
        "k_ptr",
        "v_ptr",
        "o_ptr",
        "s_ptr",
        "z_ptr",
        *STRIDES,
        "N",
        "N_CHUNKS",
        "D_V",
        "CHUNK",
        "BLOCK_V",
        "D",
    ),
    notebook="08_linear_attention",
    points=3,
    outputs=("o_ptr",),
    statement="?",
    cases=(
        _case(1, 1, 32, (16, 16), (16, 16)),
        _case(2, 2, 37, (16, 24), (16, 16), layout="padded", family="growing", flags={"PAST": 11}),
        _case(1, 4, 65_536, (64, 64), (64, 64), devices=GPU, dtype="bfloat16"),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=magnitude,
    tolerance=TOLERANCE,
    hint=Hint(question="?", idea="?", skeleton="?"),
    explanation="?",
    film=FilmSpec(
        case=_case(1, 1, 56, (16, 16), (16, 16), family="growing"),
        tensors=("q_ptr", "k_ptr", "v_ptr", "o_ptr"),
        state={"state": "state at the start", "a": "weights of this chunk"},
        choices={"N": (32, 48, 56), "D_V": (16, 24)},
        carried=Carried(start=(), end=(), chunks=("s_ptr", "z_ptr"), given=True),
        scores=Scores(tile=("a", "w", "weights", "scores", "p"), alpha="", accumulator=("", "")),
    ),
)
