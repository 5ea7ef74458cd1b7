"""delta_chunk_matrix: how much of a token's write each later token of its chunk takes back."""

from __future__ import annotations

import torch

from checker.authoring import table
from checker.course import delta_chunks, forgetting
from checker.course.delta_chunks import ONCE_A_CHUNK, SMALL, STRENGTHS, domain, in_chunks, matrices, space
from checker.course.diagrams import flowing
from checker.course.linear import roundings
from checker.course.tensors import once_a_case
from checker.puzzle import Case, FilmSpec, Tensors


def make(case: Case) -> Tensors:
    inputs = forgetting.in_memory(forgetting.drawn(case, unit=True), case)
    return {**{name: inputs[name] for name in ("k_ptr", "g_ptr", "beta_ptr")}, "a_ptr": matrices(case)}


def reference(case: Case, inputs: Tensors) -> Tensors:
    k, g, beta = (inputs[f"{name}_ptr"] for name in ("k", "g", "beta"))
    return {"a_ptr": delta_chunks.matrix(k, g, beta, case.meta["CHUNK"])}


@once_a_case
def magnitudes(case: Case, output: str) -> torch.Tensor:
    """The products of two keys, each term taken positive."""
    inputs = {name: x.double().abs() if name == "k_ptr" else x.double() for name, x in make(case).items()}
    return reference(case, inputs)[output].abs()


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    return magnitudes(case, output).clamp(min=1e-20)


PUZZLE = in_chunks(
    __file__,
    points=2,
    reads={"k": 1, "g": 1, "beta": 1},
    writes={"a": 1},
    because={**dict.fromkeys(("k", "g", "beta"), ONCE_A_CHUNK), "a": "one matrix for each chunk"},
    make=make,
    reference=reference,
    scale=scale,
    tolerance=roundings(float32=8, float16=4, bfloat16=1),
    domain=domain(
        "a may be off by eight roundings to TF32: four relative to the number itself, four to the sum of its terms' "
        f"magnitudes, counted as at least 1e-20. {SMALL}",
        STRENGTHS,
        rows="k",
        repeat=("k",),
        D=(16, 32, 64, 128),
    ),
    space=space((forgetting.tiny,), d=(16, 32)),
    cases=table(
        """
        B  H  N     D    CHUNK  values  dtype     layout  on
        1  1  150   16   128    alike   float32   -       cpu
        2  21  19   16   16     -       -         -       -
        1  1  165   16   16     -       -         -       -
        1  4  4096  128  64     alike   bfloat16  padded  gpu
        2  3  1031  64   32     mixed   -         -       gpu
        """,
        families=(*forgetting.DELTA, forgetting.alike),
    ),
    film=FilmSpec(
        case=Case({"B": 1, "H": 1, "N": 28, "D": 16}, {"CHUNK": 16}, family=forgetting.strengths),
        diagram=flowing(k_ptr=("token", "feature"), g_ptr=("token",), beta_ptr=("token",), a_ptr=("row", "column")),
        state={"b": "sum of log decays"},
        choices={"N": (16, 28, 32)},
    ),
)
