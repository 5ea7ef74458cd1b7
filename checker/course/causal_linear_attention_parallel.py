"""causal_linear_attention_parallel: the outputs of all chunks at once, each from the state that it starts from."""

from __future__ import annotations

from dataclasses import replace

import torch

from checker.course.diagrams import linear as diagram
from checker.course.linear import (
    DOMAIN,
    PASTS,
    ROUNDED,
    causal_linear_attention,
    chunk_space,
    chunks,
    empty,
    in_every_slice,
    linear_table,
    of_chunks,
)
from checker.course.linear_values import State, add, drawn, feature_map, growing, in_memory, past
from checker.puzzle import Case, FilmSpec, Tensors


def states_before(case: Case, k: torch.Tensor, v: torch.Tensor) -> State:
    """s [B, H, N_CHUNKS, D, D_V] and z [B, H, N_CHUNKS, D], float32: the state before each chunk."""
    before = past(case)
    state, states = State(before.s.double(), before.z.double()), []
    for chunk_k, chunk_v in zip(*(x.double().split(case.meta["CHUNK"], dim=-2) for x in (k, v)), strict=True):
        states.append(state)
        state = add(state, feature_map(chunk_k), chunk_v)
    return State(torch.stack([s.s for s in states], dim=2).float(), torch.stack([s.z for s in states], dim=2).float())


def make(case: Case) -> Tensors:
    """q, k, v and the states that the chunks start from."""
    n = case.sizes["N"]
    q, k, v = in_memory(drawn(case, n, n), case)
    before = states_before(case, k, v)
    return {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": empty(case, n), "s_ptr": before.s, "z_ptr": before.z}


def reference(case: Case, inputs: Tensors) -> Tensors:
    """The outputs of each chunk from the state it was given."""
    chunk, outputs = case.meta["CHUNK"], []
    for c in range(chunks(case)):
        q, k, v = (inputs[name][:, :, c * chunk : (c + 1) * chunk] for name in ("q_ptr", "k_ptr", "v_ptr"))
        outputs.append(causal_linear_attention(q, k, v, State(inputs["s_ptr"][:, :, c], inputs["z_ptr"][:, :, c]))[0])
    return {"o_ptr": torch.cat(outputs, dim=2)}


PUZZLE = of_chunks(
    __file__,
    notebook="16_few_heads",
    points=3,
    reads={
        "q": in_every_slice("B", "H", "N", "D"),
        "k": in_every_slice("B", "H", "N", "D"),
        "v": 1,
        "s": 1,
        "z": in_every_slice("B", "H", "N_CHUNKS", "D"),
    },
    writes={"o": 1},
    domain=replace(DOMAIN, accuracy=f"{ROUNDED}."),
    because={
        **dict.fromkeys(("q", "k", "v"), "each program reads its chunk once"),
        "s": "the state that the chunk starts from is read once",
        "z": "its sum of features is read once",
    },
    make=make,
    reference=reference,
    space=chunk_space(PASTS),
    cases=linear_table("""
        B  H  N       D    D_V  CHUNK  BLOCK_V  values   dtype     layout  flags     on
        1  2  16_384  64   64   64     64       growing  bfloat16  -       -         gpu
        1  1  16_383  128  128  64     64       -        float16   -       PAST=300  gpu
        1  2  4099    128  72   64     32       signs    bfloat16  padded  -         gpu
        2  3  1000    64   72   64     32       growing  -         padded  -         gpu
        1  2  2047    32   128  32     128      huge     float16   -       -         gpu
    """),
    film=FilmSpec(
        case=Case({"B": 1, "H": 1, "N": 56, "D": 16, "D_V": 16}, {"CHUNK": 16, "BLOCK_V": 16}, family=growing),
        diagram=diagram(ends=False, chunks=True, weights=True),
        state={"state": "state at the start", "z": "sum of features", "a": "weights of this chunk"},
        choices={"N": (32, 48, 56), "D_V": (16, 24)},
    ),
)
