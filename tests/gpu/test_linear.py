"""All four forms of linear attention on a GPU agree with float64 on up to 65,536 tokens, whole and in pieces."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import pytest
import torch

from checker.course import PUZZLES
from checker.course.linear import causal_linear_attention, linear_attention, magnitude
from checker.course.linear_pipeline import chained
from checker.course.linear_values import State, add, feature_map
from checker.puzzle import DTYPES, Case, Launch, RunKernel, Tensors

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cuda")]

RECURRENT, CHUNKED, ALL_KEYS = "causal_linear_attention", "causal_linear_attention_chunked", "linear_attention"
PIPELINE = ("linear_chunk_states", "linear_state_prefix", "causal_linear_attention_parallel")
NAMES = (ALL_KEYS, RECURRENT, CHUNKED, *PIPELINE)
CAUSAL = ("recurrent", "chunked", "parallel")
TILES = {"BLOCK_V": 32, "CHUNK": 64, "BLOCK_SIZE": 128, "BLOCK_M": 64, "BLOCK_N": 64}


class Shape(NamedTuple):
    b: int
    h: int
    n: int
    d: int
    d_v: int
    dtype: str

    def __str__(self) -> str:
        return f"{self.b}x{self.h}x{self.n}, {self.d} and {self.d_v}, {self.dtype}"


SHAPES = [
    Shape(1, 1, 1, 64, 64, "float16"),
    Shape(2, 2, 65, 64, 64, "float32"),
    Shape(3, 2, 1031, 128, 40, "float32"),
    Shape(2, 3, 16_411, 64, 96, "bfloat16"),
    Shape(1, 1, 65_536, 64, 64, "float32"),
    Shape(1, 2, 65_536, 64, 64, "float16"),
    Shape(1, 3, 65_536, 128, 64, "float16"),
    Shape(1, 2, 65_536, 128, 128, "bfloat16"),
    Shape(2, 16, 65_536, 64, 64, "bfloat16"),
]
HAZARDS = [Shape(1, 4, 4099, 64, 64, "float16"), Shape(1, 4, 4099, 128, 128, "bfloat16")]
OPTIONS = [(4, 1), (4, 2), (4, 3), (8, 1), (8, 2), (8, 3)]  # warps, stages


def on_gpu(kernels: Mapping[str, Callable], **options: int) -> RunKernel:
    """Launch solutions on tensors that are already on the GPU; `options` replace the course's own."""

    def run(name: str, launch: Launch) -> dict[str, torch.Tensor]:
        kernels[name][launch.grid](**launch.arguments, **launch.meta, **{**launch.options, **options})
        return {n: t for n, t in launch.arguments.items() if isinstance(t, torch.Tensor)}

    return run


def linear_case(shape: Shape) -> Case:
    sizes = {"B": shape.b, "H": shape.h, "N": shape.n, "D": shape.d, "D_V": shape.d_v}
    return Case(sizes, TILES, shape.dtype)


def meta_of(name: str) -> dict[str, int]:
    return {tile: TILES[tile] for tile in PUZZLES[name].cases[0].meta}


def text(shape: Shape) -> Tensors:
    """Random tokens on the GPU, and the state after 100 earlier tokens. The outputs start as NaN."""
    g = torch.Generator("cuda").manual_seed(shape.n + shape.d)

    def draw(n: int, width: int) -> torch.Tensor:
        return torch.randn(shape.b, shape.h, n, width, generator=g, device="cuda")

    def nothing(*rest: int) -> torch.Tensor:
        return torch.full((shape.b, shape.h, *rest), torch.nan, device="cuda")

    zeros = State(torch.zeros_like(nothing(shape.d, shape.d_v)), torch.zeros_like(nothing(shape.d)))
    before = add(zeros, feature_map(draw(100, shape.d)), draw(100, shape.d_v))
    dtype = DTYPES[shape.dtype]
    return {
        "q_ptr": draw(shape.n, shape.d).to(dtype),
        "k_ptr": draw(shape.n, shape.d).to(dtype),
        "v_ptr": (draw(shape.n, shape.d_v) + 0.5).to(dtype),
        "o_ptr": nothing(shape.n, shape.d_v).to(dtype),
        "s0_ptr": before.s.contiguous(),
        "z0_ptr": before.z.contiguous(),
        "s_ptr": nothing(shape.d, shape.d_v),
        "z_ptr": nothing(shape.d),
    }


def wanted(tensors: Tensors) -> Tensors:
    """The outputs of every causal form, in float64."""
    q, k, v = (tensors[name].double() for name in ("q_ptr", "k_ptr", "v_ptr"))
    o, after = causal_linear_attention(q, k, v, State(tensors["s0_ptr"].double(), tensors["z0_ptr"].double()))
    return {"o_ptr": o, "s_ptr": after.s, "z_ptr": after.z}


def causal(form: str, shape: Shape, tensors: Tensors, run: RunKernel) -> Tensors:
    """The outputs and final state of one form, in new tensors."""
    fresh = {n: torch.full_like(t, torch.nan) if n in ("o_ptr", "s_ptr", "z_ptr") else t for n, t in tensors.items()}
    if form == "parallel":
        return chained(linear_case(shape), fresh, run)
    name = RECURRENT if form == "recurrent" else CHUNKED
    after = run(name, PUZZLES[name].launch(linear_case(shape), fresh, meta_of(name)))
    return {n: after[n] for n in ("o_ptr", "s_ptr", "z_ptr")}


def apart(shape: Shape, got: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest difference, relative to the puzzles' tolerance; NaN if an element was never stored."""
    tolerance, eps = PUZZLES[RECURRENT].tolerance[shape.dtype], torch.finfo(DTYPES[shape.dtype]).eps
    expected = expected.double()
    allowed = tolerance.rtol * expected.abs() + tolerance.c * eps * magnitude(linear_case(shape), "o_ptr", expected)
    return float(((got.double() - expected).abs() / allowed).max())


def assert_right(shape: Shape, got: Tensors, expected: Tensors, words: str) -> None:
    for name, tensor in expected.items():
        assert apart(shape, got[name], tensor) <= 1, f"{name}, {words}"


def assert_right_and_deterministic(
    shape: Shape, tensors: Tensors, forms: Iterable[str], run: RunKernel, launches: int
) -> None:
    """Every launch gives the same bits, and they agree with float64."""
    expected = wanted(tensors)
    for form in forms:
        outputs = [causal(form, shape, tensors, run) for _ in range(launches)]
        assert_right(shape, outputs[0], expected, form)
        assert all(torch.equal(outputs[0][name], other[name]) for other in outputs[1:] for name in other), form
    answers = [all_keys(shape, tensors, run) for _ in range(launches)]
    assert apart(shape, *answers[0]) <= 1
    assert all(torch.equal(answers[0][0], other) for other, _ in answers[1:])


def all_keys(shape: Shape, tensors: Tensors, run: RunKernel) -> tuple[torch.Tensor, torch.Tensor]:
    """The output for up to 2,048 queries, which see the keys below their batch's length; and the same in float64."""
    q, k, v = tensors["q_ptr"][:, :, :2048].contiguous(), tensors["k_ptr"], tensors["v_ptr"]
    lengths = torch.tensor([max(shape.n - 37 * b, 0) for b in range(shape.b)], dtype=torch.int32, device="cuda")
    o = torch.full((*q.shape[:-1], shape.d_v), torch.nan, dtype=q.dtype, device="cuda")
    given = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": o, "key_lengths_ptr": lengths}
    sizes = {"B": shape.b, "H": shape.h, "N_Q": q.shape[2], "N_KV": shape.n, "D": shape.d, "D_V": shape.d_v}
    launch = PUZZLES[ALL_KEYS].launch(Case(sizes, TILES, shape.dtype), given, meta_of(ALL_KEYS))
    run(ALL_KEYS, launch)
    seen = (torch.arange(shape.n, device="cuda") < lengths[:, None])[:, None, :]
    return o, linear_attention(q.double(), k.double(), v.double(), seen)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_form_agrees_with_float64_and_is_deterministic(kernels, shape):
    assert_right_and_deterministic(shape, text(shape), CAUSAL, on_gpu(kernels), launches=2)


@pytest.mark.parametrize(("warps", "stages"), OPTIONS)
@pytest.mark.parametrize("shape", HAZARDS, ids=str)
def test_warps_and_stages_change_nothing(kernels, shape, warps, stages):
    """Releases of Triton have had races in pipelined products and wrong results with eight warps."""
    forms = CAUSAL if stages == 2 else ("chunked",)  # only the chunked form has a product in a loop to pipeline
    run = on_gpu(kernels, num_warps=warps, num_stages=stages)
    assert_right_and_deterministic(shape, text(shape), forms, run, launches=4)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("form", CAUSAL)
def test_a_long_text_can_be_fed_in_pieces(kernels, form, dtype):
    """Each piece continues from the previous one's state; the cuts are not at the end of a chunk or tile."""
    shape = Shape(1, 2, 65_536, 64, 64, dtype)
    tensors, run = text(shape), on_gpu(kernels)
    expected = wanted(tensors)
    state, outputs = {"s_ptr": tensors["s0_ptr"], "z_ptr": tensors["z0_ptr"]}, []
    for start, stop in itertools.pairwise((0, 1, 12_345, 40_000, shape.n)):
        views = {name: tensors[name][:, :, start:stop] for name in ("q_ptr", "k_ptr", "v_ptr", "o_ptr")}
        given = {**tensors, **views, "s0_ptr": state["s_ptr"], "z0_ptr": state["z_ptr"]}
        state = causal(form, shape._replace(n=stop - start), given, run)
        outputs.append(state["o_ptr"])
    pieces = {"o_ptr": torch.cat(outputs, dim=2), "s_ptr": state["s_ptr"], "z_ptr": state["z_ptr"]}
    assert_right(shape, pieces, expected, "pieces")
    whole = causal(form, shape, tensors, run)
    for name in pieces:  # chunks start elsewhere and so round differently; the recurrence does not
        assert apart(shape, pieces[name], whole[name]) <= (1 / 8 if form == "recurrent" else 1), name
