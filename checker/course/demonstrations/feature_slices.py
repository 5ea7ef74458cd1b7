"""feature_slices: causal linear attention whose programs own features, so that several programs add to the same outputs.

The state S = φ(K)ᵀ V is divided by rows. In the kernel that the learner writes it is divided by columns, and a single program
writes each number of the output, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch

from checker.authoring import cdiv
from checker.course.diagrams import linear as diagram
from checker.course.linear import EPS, causal_linear_attention, linear, linear_table, magnitude
from checker.course.linear_values import State, drawn, feature_map, in_memory
from checker.puzzle import Case, FilmSpec, Launch, Scalar, Tensors, Tolerance


def make(case: Case) -> Tensors:
    b, h, n, d_v = (case.sizes[name] for name in ("B", "H", "N", "D_V"))
    q, k, v = in_memory(drawn(case, n, n, dots=False), case)
    return {"q_ptr": q, "k_ptr": k, "v_ptr": v, "num_ptr": torch.zeros(b, h, n, d_v), "den_ptr": torch.zeros(b, h, n)}


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Numerator and normaliser of equation 5, causal (see `linear`), before one is divided by the other."""
    q, k, v = inputs["q_ptr"], inputs["k_ptr"], inputs["v_ptr"]
    nothing = State(q.new_zeros(*q.shape[:2], q.shape[-1], v.shape[-1]), q.new_zeros(*q.shape[:2], q.shape[-1]))
    o, _ = causal_linear_attention(q, k, v, nothing)
    den = (feature_map(q) * feature_map(k).cumsum(dim=-2)).sum(dim=-1)
    return {"num_ptr": o * (den + EPS)[..., None], "den_ptr": den}


def programs(case: Case) -> int:
    """How many programs share a head, each with BLOCK_D features."""
    return cdiv(case.sizes["D"], case.meta["BLOCK_D"])


def added(case: Case) -> int:
    """Elements of den that all programs together add to."""
    return programs(case) * case.sizes["B"] * case.sizes["H"] * case.sizes["N"]


def in_every_program(case: Case) -> int:
    return added(case) * case.sizes["D_V"]


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """The largest element of a row of the numerator; for a denominator its own size."""
    return magnitude(case, output, expected) if output == "num_ptr" else expected.abs()


ATOMIC = "every program reads, adds and writes back its share of every number, in one atomic step"
_FROM_ZERO = linear(
    __file__,
    notebook="14_linear_attention",
    grid=lambda n: (n["B"] * n["H"], cdiv(n["D"], n["BLOCK_D"])),
    options=lambda n: {"num_warps": 4, "num_stages": 1},
    numbers={"BLOCK_V": lambda case: 1 << (case.sizes["D_V"] - 1).bit_length()},
    reads={"q": 1, "k": 1, "v": in_every_program, "num": in_every_program, "den": added},
    writes={"num": in_every_program, "den": added},
    because={
        **dict.fromkeys(("q", "k"), "each program loads its own features"),
        "v": "every program of a head needs the whole value",
        **dict.fromkeys(("num", "den"), ATOMIC),
    },
    make=make,
    reference=reference,
    scale=scale,
    # no product goes through a tensor core, and outputs are float32 whatever the inputs are: 256 steps of float32
    tolerance={
        "float32": Tolerance(rtol=1e-5, c=256.0),
        "float16": Tolerance(rtol=1e-5, c=256.0 / 2**13),
        "bfloat16": Tolerance(rtol=1e-5, c=256.0 / 2**16),
    },
    cases=linear_table("""
        B  H   N     D   D_V  BLOCK_D  values   dtype     layout  on
        1  1   12    8   4    4
        1  1   1     16  16   16
        2  3   37    24  5    16       growing  -         padded
        1  2   33    16  40   4        signs
        1  2   20    20  16   8        warm
        1  2   50    16  16   4        growing  float16
        2  1   31    32  24   8        -        bfloat16  padded
        4  16  1024  64  64   16       -        -         -       gpu
        2  8   2047  64  72   16       growing  float16   padded  gpu
    """),
    film=FilmSpec(
        case=Case({"B": 1, "H": 1, "N": 12, "D": 8, "D_V": 4}, {"BLOCK_D": 4}),
        diagram=diagram(output="num_ptr", ends=False),
        state={"s": "rows of the state", "z": "sum of keys", "k": "features of the key", "q": "features of the query"},
    ),
)


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    """Outputs that are added to have to start at 0. On a GPU that takes one more pass over them, before the kernel."""
    for name in _FROM_ZERO.outputs:
        tensors[name].zero_()
    return _FROM_ZERO.launch(case, tensors, meta)


DEMONSTRATION = replace(_FROM_ZERO, launch=launch)
