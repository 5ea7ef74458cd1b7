"""triangular_inverse: (I - A)⁻¹ of each chunk, row by row, and its product with the values."""

from __future__ import annotations

import torch

from checker.authoring import table
from checker.course import delta_chunks, forgetting
from checker.course.delta_chunks import MADE_FROM_KEYS, ONCE_A_CHUNK, SMALL, domain, in_chunks, matrices, space
from checker.course.diagrams import flowing
from checker.course.linear import roundings
from checker.course.tensors import once_a_case
from checker.puzzle import Case, FilmSpec, Tensors, Tolerance


def make(case: Case) -> Tensors:
    x = forgetting.drawn(case, unit=True)
    a = delta_chunks.matrix(x.k, x.g, x.beta, case.meta["CHUNK"]).float()
    u = torch.zeros([case.sizes[name] for name in ("B", "H", "N", "D_V")])
    return {"a_ptr": a, "v_ptr": forgetting.in_memory(x, case)["v_ptr"], "t_ptr": matrices(case), "u_ptr": u}


def reference(case: Case, inputs: Tensors) -> Tensors:
    t = delta_chunks.inverse(inputs["a_ptr"])
    u = t @ delta_chunks.cut(inputs["v_ptr"], case.meta["CHUNK"])
    return {"t_ptr": t, "u_ptr": delta_chunks.joined(u, case.sizes["N"])}


@once_a_case
def magnitudes(case: Case, output: str) -> torch.Tensor:
    """|T| |I - A| |T|, a fraction of which substitution in float32 loses (Higham 2002, section 14.2); for u it is |T| |V|."""
    inputs = {name: x.double() for name, x in make(case).items()}
    a = inputs["a_ptr"]
    t = delta_chunks.inverse(a).abs()
    if output == "t_ptr":
        return t @ (torch.eye(a.shape[-1]).double() - a).abs() @ t
    return delta_chunks.joined(t @ delta_chunks.cut(inputs["v_ptr"].abs(), case.meta["CHUNK"]), case.sizes["N"])


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    return magnitudes(case, output).clamp(min=1e-12)


SUBSTITUTED = Tolerance(rtol=1e-6, c=16.0)
"""In roundings of float32: sums of up to CHUNK terms, typically off by the root of that many."""

PUZZLE = in_chunks(
    __file__,
    points=4,
    reads={"a": 1, "v": 1},
    writes={"t": 1, "u": 1},
    because={"a": "each row of A is needed once: T stays on chip", "v": ONCE_A_CHUNK, "t": "one matrix for each chunk"},
    make=make,
    reference=reference,
    scale=scale,
    tolerance=roundings(float32=8, float16=8, bfloat16=1),
    output_tolerance={
        "t_ptr": {
            "float32": SUBSTITUTED,
            "float16": Tolerance(1e-6, 16 * 2.0**-13),
            "bfloat16": Tolerance(1e-6, 16 * 2.0**-16),
        }
    },
    domain=domain(
        "substitution in float32 is exact enough, with room to spare: t may be off by a millionth of itself plus 16 float32 roundings of |T| |I - A| |T|, "
        "the magnitudes it adds up. u may be off by eight roundings of T and V to TF32. Magnitudes below 1e-12 count as 1e-12. "
        f"{SMALL}",
        f"A is 0 on the diagonal and above it, and made from {MADE_FROM_KEYS}",
        rows="v",
        repeat=("v",),
        D_V=(16, 32, 64),
    ),
    space=space((forgetting.huge,), d_v=(16, 32)),
    cases=table(
        """
        B  H  N     D_V  CHUNK  values  dtype     layout  on   why
        1  1  64    16   64     alike   -         -       -    the powers of A explode
        1  1  150   16   128    alike   float32   -       cpu  more blocks of rows than a kernel may have written out
        2  21  19   16   16     -       -         -       -    many heads
        1  1  165   16   16     -       -         -       -    many chunks
        1  4  4096  64   64     alike   bfloat16  padded  gpu
        2  3  1031  32   32     mixed   -         -       gpu
        """,
        families=forgetting.DELTA,
    ),
    film=FilmSpec(
        case=Case({"B": 1, "H": 1, "N": 16, "D_V": 16}, {"CHUNK": 16}, family=forgetting.alike),
        diagram=flowing(
            a_ptr=("row", "column"), t_ptr=("row", "column"), v_ptr=("token", "value"), u_ptr=("token", "value")
        ),
        state={"row": "row i of A", "new": "row i of A, times T"},
        choices={"N": (16, 28), "D_V": (16, 32)},
    ),
)
