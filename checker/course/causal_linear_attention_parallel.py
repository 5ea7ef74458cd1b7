"""causal_linear_attention_parallel: the outputs of all chunks at once, each from the state that it starts from."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from checker.authoring import puzzle
from checker.course.diagrams import linear
from checker.course.linear_cases import chunked_case, drawn, shared_cases
from checker.course.linear_causal import AXES, chunks, launch_chunks, sizes
from checker.course.linear_inputs import (
    LONG,
    TOLERANCE,
    State,
    add,
    causal_linear_attention,
    empty,
    feature_map,
    magnitude,
    past,
    queries_keys_values,
    rows,
    slices,
)
from checker.puzzle import GPU, Allowance, Case, FilmSpec, Launch, Many, Scalar, Tensors


def _starts(case: Case, k: torch.Tensor, v: torch.Tensor) -> State:
    """s [B, H, N_CHUNKS, D, D_V] and z [B, H, N_CHUNKS, D], float32: the state before each chunk."""
    b, h, _, d, d_v = sizes(case)
    state = past(case, (b, h), d, d_v)
    state, starts = State(state.s.double(), state.z.double()), []
    for part_k, part_v in zip(*(x.double().split(case.meta["CHUNK"], dim=-2) for x in (k, v)), strict=True):
        starts.append(state)
        state = add(state, feature_map(part_k), part_v)
    return State(torch.stack([s.s for s in starts], dim=2).float(), torch.stack([s.z for s in starts], dim=2).float())


def make(case: Case) -> Tensors:
    """q, k, v and the states that the chunks start from."""
    b, h, n, d, d_v = sizes(case)
    q, k, v = queries_keys_values(case, (b, h, n, d), (b, h, n, d), d_v)
    starts = _starts(case, k, v)
    return {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": empty(case, v.shape), "s_ptr": starts.s, "z_ptr": starts.z}


def reference(case: Case, inputs: Tensors) -> Tensors:
    """The outputs of each chunk from the state it was given."""
    chunk, outputs = case.meta["CHUNK"], []
    for c in range(chunks(case)):
        q, k, v = (inputs[name][:, :, c * chunk : (c + 1) * chunk] for name in ("q_ptr", "k_ptr", "v_ptr"))
        outputs.append(causal_linear_attention(q, k, v, State(inputs["s_ptr"][:, :, c], inputs["z_ptr"][:, :, c]))[0])
    return {"o_ptr": torch.cat(outputs, dim=2)}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    return launch_chunks(case, tensors, meta, AXES, outputs=("o_ptr",))


def budget(case: Case) -> dict[str, Allowance]:
    b, h, n, d, d_v = sizes(case)
    once, states = "each program reads its chunk once", b * h * chunks(case) * d * 4
    return {
        "q_ptr": Allowance(slices(case) * rows(case, n, d), 0, once),
        "k_ptr": Allowance(slices(case) * rows(case, n, d), 0, once),
        "v_ptr": Allowance(rows(case, n, d_v), 0, once),
        "o_ptr": Allowance(0, rows(case, n, d_v), "each output is written once and never read"),
        "s_ptr": Allowance(states * d_v, 0, "the state that the chunk starts from, read once"),
        "z_ptr": Allowance(slices(case) * states, 0, "its sum of features, read once"),
    }


PUZZLE = puzzle(
    __file__,
    notebook="12_few_heads",
    points=3,
    outputs=("o_ptr",),
    cases=(
        *shared_cases(past=(11, 0)),
        chunked_case(1, 1, 20, (16, 16), (16, 16), family="half_frozen", flags={"PAST": 11}),
        chunked_case(1, 2, 45, (16, 16), (16, 16), family="faint"),
        chunked_case(1, 3, 130, (128, 72), (32, 64), flags={"PAST": 11}),  # 46,608 heads of so many states pass 2³¹
        # for mistakes that show in few cases only
        chunked_case(1, 1, 1111, (16, 31), (16, 16), layout="padded", flags={"PAST": 11}),  # more than 64 chunks
        chunked_case(
            1, 1, 1174, (64, 63), (64, 64), dtype="float16", family="growing", layout="transposed", flags={"PAST": 11}
        ),
        chunked_case(2, 1, 16, (32, 8), (64, 32), family="half_frozen", layout="padded", flags={"PAST": 11}),
        chunked_case(1, 1, 64, (16, 17), (32, 16), family="half_frozen", layout="padded", flags={"PAST": 3}),
        chunked_case(
            1, 1, 1109, (64, 79), (64, 64), dtype="bfloat16", family="cold", layout="padded", flags={"PAST": 0}
        ),
        chunked_case(
            2, 1, 640, (16, 12), (16, 32), dtype="bfloat16", family="hot", layout="padded", flags={"PAST": 11}
        ),
        chunked_case(1, 1, 211, (128, 31), (64, 16), dtype="float16", family="growing", flags={"PAST": 11}),
        chunked_case(1, 2, 64, (16, 33), (32, 16), dtype="float16", flags={"PAST": 11}),
        chunked_case(1, 1, 99, (16, 32), (16, 16), family="faint"),
        # and for some that only a GPU's larger cases had shown
        chunked_case(1, 1, 200, (128, 72), (64, 32), dtype="bfloat16", family="signs", layout="padded"),
        chunked_case(1, 1, 1280, (16, 72), (32, 64), dtype="float16", family="huge"),
        chunked_case(1, 1, 33, (16, 32), (16, 32), dtype="float16", family="outlier"),
        chunked_case(1, 2, 16_384, (64, 64), (64, 64), devices=GPU, dtype="bfloat16", family="growing"),
        chunked_case(1, 1, 16_383, (128, 128), (64, 64), devices=GPU, dtype="float16", flags={"PAST": 300}),
        chunked_case(1, 2, 4099, (128, 72), (128, 32), devices=GPU, dtype="bfloat16", family="signs", layout="padded"),
        chunked_case(2, 3, 1000, (64, 72), (64, 32), devices=GPU, family="growing", layout="padded"),
        chunked_case(1, 2, 2047, (32, 128), (32, 128), devices=GPU, dtype="float16", family="huge"),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=magnitude,
    tolerance=TOLERANCE,
    long=LONG,
    many=(Many(("q_ptr", "k_ptr", "v_ptr", "o_ptr", "s_ptr", "z_ptr"), "H", "head", axis=1, grid=1, first=None),),
    film=FilmSpec(
        case=chunked_case(1, 1, 56, (16, 16), (16, 16), family="growing"),
        diagram=linear(ends=False, chunks=True, weights=True),
        state={"state": "state at the start", "z": "sum of features", "a": "weights of this chunk"},
        choices={"N": (32, 48, 56), "D_V": (16, 24)},
    ),
    drawn=drawn((0, 11)),
)
