"""causal_linear_attention_chunked: masked attention inside a chunk, the state between chunks."""

from __future__ import annotations

from typing import Any

from checker.course.linear_causal import CARRIED, OUTPUTS, STRIDES, budget, launch, make, reference
from checker.course.linear_inputs import GPU, TOLERANCE, described, magnitude
from checker.puzzle import Carried, Case, FilmSpec, Hint, Puzzle, Scores


def _case(b: int, h: int, n: int, d: tuple[int, int], block: tuple[int, int], **more: Any) -> Case:
    name = (
        f"{b} × {h} heads, {n} tokens, D = {d[0]}, D_V = {d[1]}, chunks of {block[0]}, slices of {block[1]}"
        + described(more)
    )
    return Case(
        name, {"B": b, "H": h, "N": n, "D": d[0], "D_V": d[1]}, {"CHUNK": block[0], "BLOCK_V": block[1]}, **more
    )


PUZZLE = Puzzle(
    name="causal_linear_attention_chunked",
    title="Causal linear attention in chunks",
    kernel="causal_linear_attention_chunked_kernel",
    parameters=("q_ptr", "k_ptr", "v_ptr", "o_ptr", *CARRIED, *STRIDES, "N", "D_V", "CHUNK", "BLOCK_V", "D"),
    notebook="08_linear_attention",
    points=6,
    outputs=OUTPUTS,
    statement="?",
    cases=(
        _case(1, 1, 16, (16, 16), (16, 16)),
        _case(2, 2, 37, (16, 24), (16, 16), layout="padded", family="growing", flags={"PAST": 11}),
        _case(2, 8, 65_536, (64, 64), (64, 64), devices=GPU, dtype="bfloat16", flags={"PAST": 100}),
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
        case=_case(1, 1, 48, (16, 16), (16, 16), family="growing"),
        tensors=("q_ptr", "k_ptr", "v_ptr", "o_ptr"),
        state={"state": "state", "z": "sum of features"},
        choices={"N": (32, 48, 56), "D_V": (16, 24)},
        carried=Carried(),
        scores=Scores(tile=("a", "w", "weights", "scores", "p"), alpha="", accumulator=("", "")),
    ),
)
