"""delta_chunk_values: what each token writes into an empty state, and what it takes back from the state of the chunk's start."""

from __future__ import annotations

import torch

from checker.authoring import table
from checker.course import delta_chunks, forgetting
from checker.course.delta_chunks import ONCE_A_CHUNK, SMALL, STRENGTHS, domain, in_chunks, space
from checker.course.diagrams import flowing
from checker.course.linear import roundings
from checker.course.tensors import once_a_case
from checker.puzzle import Case, FilmSpec, Tensors

NAMES = ("t", "k", "v", "g", "beta")


def make(case: Case) -> Tensors:
    x = forgetting.drawn(case, unit=True)
    t = delta_chunks.inverse(delta_chunks.matrix(x.k, x.g, x.beta, case.meta["CHUNK"])).float()
    inputs = {**forgetting.in_memory(x, case), "t_ptr": t}
    u, w = torch.zeros(x.v.shape), torch.zeros(x.k.shape)
    return {**{f"{name}_ptr": inputs[f"{name}_ptr"] for name in NAMES}, "u_ptr": u, "w_ptr": w}


def reference(case: Case, inputs: Tensors) -> Tensors:
    u, w = delta_chunks.written(*(inputs[f"{name}_ptr"] for name in NAMES))
    return {"u_ptr": u, "w_ptr": w}


@once_a_case
def magnitudes(case: Case, output: str) -> torch.Tensor:
    """The sum of the magnitudes of all terms."""
    inputs = {name: x.double() if name == "g_ptr" else x.double().abs() for name, x in make(case).items()}
    return reference(case, inputs)[output]


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    return magnitudes(case, output).clamp(min=1e-12)


PUZZLE = in_chunks(
    __file__,
    points=2,
    reads=dict.fromkeys(NAMES, 1),
    writes={"u": 1, "w": 1},
    because=dict.fromkeys(NAMES, ONCE_A_CHUNK),
    make=make,
    reference=reference,
    scale=scale,
    tolerance=roundings(float32=8, float16=8, bfloat16=1),
    domain=domain(
        "u and w may be off by eight roundings to TF32: four relative to the number itself, four to the sum of its terms' "
        f"magnitudes, counted as at least 1e-12. {SMALL}",
        f"{STRENGTHS} T comes from the same keys.",
        rows="k and v",
        repeat=("k", "v"),
        D=(16, 32, 64, 128),
        D_V=(16, 32, 64),
    ),
    space=space((forgetting.huge,), d=(16, 32), d_v=(16, 32)),
    cases=table(
        """
        B  H  N     D    D_V  CHUNK  values  dtype     layout  on
        1  2  20    16   16   16     beyond  float32   -       -
        1  1  150   16   16   128    alike   float32   -       cpu
        2  21  19   16   16   16     -       -         -       -
        1  1  165   16   16   16     -       -         -       -
        1  4  4096  128  64   64     alike   bfloat16  padded  gpu
        2  3  1031  64   32   32     mixed   -         -       gpu
        """,
        families=forgetting.DELTA,
    ),
    film=FilmSpec(
        case=Case({"B": 1, "H": 1, "N": 28, "D": 16, "D_V": 16}, {"CHUNK": 16}, family=forgetting.strengths),
        diagram=flowing(
            t_ptr=("row", "column"),
            k_ptr=("token", "feature"),
            v_ptr=("token", "value"),
            g_ptr=("token",),
            beta_ptr=("token",),
            u_ptr=("token", "value"),
            w_ptr=("token", "feature"),
        ),
        state={"b": "sum of log decays"},
        choices={"N": (16, 28, 32), "D_V": (16, 32)},
    ),
)
