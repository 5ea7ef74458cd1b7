"""linear_chunk_states: what each chunk of tokens adds to the state, all chunks at once."""

from __future__ import annotations

from dataclasses import replace

import torch

from checker.course.diagrams import linear as diagram
from checker.course.linear import (
    DOMAIN,
    STATE_TOLERANCE,
    chunk_space,
    chunks,
    in_every_slice,
    linear_table,
    of_chunks,
)
from checker.course.linear_values import drawn, feature_map, growing, in_memory
from checker.puzzle import Case, FilmSpec, Tensors


def make(case: Case) -> Tensors:
    b, h, n, d, d_v = (case.sizes[name] for name in ("B", "H", "N", "D", "D_V"))
    _, k, v = in_memory(drawn(case, n, n), case)
    states = torch.zeros(b, h, chunks(case), d, d_v)
    return {"k_ptr": k, "v_ptr": v, "s_ptr": states, "z_ptr": torch.zeros(b, h, chunks(case), d)}


def reference(case: Case, inputs: Tensors) -> Tensors:
    chunks_k, chunks_v = (inputs[name].split(case.meta["CHUNK"], dim=-2) for name in ("k_ptr", "v_ptr"))
    features = [feature_map(k) for k in chunks_k]
    return {
        "s_ptr": torch.stack([k.mT @ v for k, v in zip(features, chunks_v, strict=True)], dim=2),
        "z_ptr": torch.stack([k.sum(dim=-2) for k in features], dim=2),
    }


PUZZLE = of_chunks(
    __file__,
    notebook="16_few_heads",
    points=3,
    reads={"k": in_every_slice("B", "H", "N", "D"), "v": 1},
    writes={"s": 1, "z": 1},
    because={
        "k": "each program reads its chunk of keys once",
        "v": "every value is read once",
        "s": "one state for each chunk",
        "z": "one sum of features for each chunk",
    },
    make=make,
    reference=reference,
    output_tolerance=STATE_TOLERANCE,
    domain=replace(
        DOMAIN,
        values="k and v are finite, and so are the sums of φ(k) and of φ(k) v. In float16, a feature below 6e-5 may lose bits.",
        memory=DOMAIN.memory.replace("q, k and v", "k and v"),
        accuracy="s and z are float32. s may be off by eight roundings of an operand (six in float16, five in bfloat16; float32 rounds "
        "to TF32) and z by two: half of them relative to the element itself, half to the largest of its row.",
        expanded=("k", "v"),
    ),
    space=chunk_space((None,), weights=False),
    cases=linear_table("""
        B  H  N       D    D_V  CHUNK  BLOCK_V  values   dtype     layout  on
        2  3  1031    64   80   32     32       growing  -         padded  gpu
        1  4  16_384  64   64   64     64       -        bfloat16  -       gpu
        1  2  16_384  64   64   64     64       -        -         -       gpu
        1  2  16_369  128  128  64     64       huge     float16   -       gpu
    """),
    film=FilmSpec(
        case=Case({"B": 1, "H": 1, "N": 56, "D": 16, "D_V": 16}, {"CHUNK": 16, "BLOCK_V": 16}, family=growing),
        diagram=diagram(ends=False, chunks=True, queries=False),
        state={"state": "state of this chunk"},
        choices={"N": (32, 48, 56), "D_V": (16, 24)},
    ),
)
