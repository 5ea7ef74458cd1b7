"""causal_linear_attention_chunked: masked attention inside a chunk, the state between chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from checker.authoring import puzzle
from checker.course import linear_causal
from checker.course.diagrams import linear
from checker.course.linear_cases import chunked_case, drawn, shared_cases
from checker.course.linear_causal import OUTPUTS, budget, make, reference
from checker.course.linear_inputs import LONG, OUTPUT_TOLERANCE, TOLERANCE, magnitude
from checker.puzzle import GPU, Case, FilmSpec, Launch, Scalar, Tensors

_AFTER: dict[str, int] = {"PAST": 11}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    """As the recurrent kernel, but with more threads for long chunks: state, chunk and weights share the registers."""
    warps = 8 if int(meta["CHUNK"]) >= 64 else 4
    return replace(linear_causal.launch(case, tensors, meta), options={"num_warps": warps, "num_stages": 1})


PUZZLE = puzzle(
    __file__,
    notebook="11_in_chunks",
    points=6,
    outputs=OUTPUTS,
    cases=(
        *shared_cases(past=(11, 0)),
        chunked_case(1, 1, 17, (16, 16), (16, 16), family="frozen", flags=_AFTER),
        chunked_case(1, 1, 33_003, (16, 16), (128, 16)),  # more tokens than 16 bits can count
        # for mistakes that show in few cases only
        chunked_case(1, 1, 5, (32, 33), (16, 16), family="half_frozen", flags={"PAST": 3}),
        chunked_case(1, 1, 1222, (16, 31), (64, 16), dtype="float16", family="growing", layout="padded", flags=_AFTER),
        chunked_case(
            1, 1, 1132, (64, 48), (64, 32), dtype="float16", family="contributions", layout="padded", flags=_AFTER
        ),
        chunked_case(1, 2, 96, (128, 12), (16, 64), dtype="float16", family="contributions", flags={"PAST": 0}),
        chunked_case(
            1, 1, 1109, (64, 79), (64, 64), dtype="bfloat16", family="cold", layout="padded", flags={"PAST": 0}
        ),
        chunked_case(3, 1, 32, (16, 40), (16, 32), family="half_frozen", layout="padded", flags=_AFTER),
        chunked_case(1, 2, 45, (16, 16), (16, 16), family="faint"),
        chunked_case(2, 1, 640, (16, 12), (16, 32), dtype="bfloat16", family="hot", layout="padded", flags=_AFTER),
        chunked_case(1, 1, 211, (128, 31), (64, 16), dtype="float16", family="growing", flags=_AFTER),
        # added for mistakes that only a GPU's larger cases had shown
        chunked_case(1, 2, 300, (128, 32), (64, 16), dtype="bfloat16", family="contributions"),
        chunked_case(1, 1, 1103, (128, 32), (64, 16), dtype="float16", family="many_small"),
        chunked_case(2, 3, 1031, (64, 80), (32, 32), devices=GPU, layout="padded", family="growing"),
        chunked_case(1, 2, 20_011, (64, 64), (64, 64), devices=GPU, dtype="bfloat16", flags=_AFTER),
        chunked_case(1, 2, 16_384, (64, 64), (64, 64), devices=GPU),
        chunked_case(1, 1, 16_369, (128, 128), (64, 64), devices=GPU, dtype="float16", family="many_small"),
        chunked_case(2, 8, 1024, (128, 128), (64, 64), devices=GPU, dtype="bfloat16", family="contributions"),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=magnitude,
    tolerance=TOLERANCE,
    output_tolerance=OUTPUT_TOLERANCE,
    long=LONG,
    film=FilmSpec(
        case=chunked_case(1, 1, 48, (16, 16), (16, 16), family="growing"),
        diagram=linear(weights=True),
        state={"state": "state", "z": "sum of features"},
        choices={"N": (32, 48, 56), "D_V": (16, 24), "CHUNK": (16, 32)},
    ),
    drawn=drawn((0, 11)),
)
