"""The gradients of attention on a real GPU: every configuration against float64, and PyTorch's own kernels beside them.

Compilers have been wrong here before: in Triton 3.4 to 3.7.0 an accumulator that is transposed for the next product gives wrong
gradients on Hopper, in tiles of 64, without a word (flash-linear-attention, issues 640 and 983). So more is tried than the course's own tiles.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from checker import gpu
from checker.course import PUZZLES
from checker.course.attention_heads import heads_case, key_lengths, seen
from checker.course.attention_inputs import attention, scale_of
from checker.judge.comparison import error_against
from checker.puzzle import DTYPES, Case, Launch, Puzzle, Tensors
from tests.judge.helpers import judge, solution

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cuda")]

NAMES = ("attention_dkdv", "attention_dq")
WIDTHS = (32, 64, 128)
LENGTHS = (1, 17, 129, 1000, 4096)
COURSE = [(16, 16, 4, 2), (64, 32, 4, 2), (32, 64, 4, 2), (64, 64, 4, 2)]
"""BLOCK_M, BLOCK_N, warps and stages of the puzzles' own cases."""
CHOSEN = [
    (64, 64, 4, 1),
    (64, 64, 4, 3),
    (64, 64, 8, 2),
    (64, 64, 2, 2),
    (32, 128, 4, 3),
    (128, 32, 8, 2),
    (128, 64, 8, 3),
    (64, 128, 8, 2),
    (128, 128, 8, 2),
]
"""What a learner may choose: the tiles that fault reports name, more stages, more and fewer warps."""


class Expected(NamedTuple):
    """What autograd gives in float64, what an error in it is measured against, and the inputs."""

    case: Case
    inputs: Tensors
    gradients: Mapping[str, torch.Tensor]
    scales: Mapping[str, torch.Tensor]


@functools.cache
def expected(n: int, d: int, dtype: str, causal: bool) -> Expected:
    """More queries than keys where that leaves some that see nothing, a text that is cut short and an empty one."""
    if n == 4096:
        case = heads_case(1, (2, 1), (n, n), d, (64, 64), {"IS_CAUSAL": causal}, dtype=dtype)
    else:
        flags = {"IS_CAUSAL": causal, "RAGGED": 1}
        case = heads_case(3, (4, 2), (n, max(1, n - n // 4)), d, (64, 64), flags, dtype=dtype, layout="transposed")
    inputs: Tensors = {}
    scales = {}
    for name in NAMES:
        puzzle = PUZZLES[name]
        inputs |= puzzle.make(case)
        scales |= {output: puzzle.scale(case, output, torch.zeros(())) for output in puzzle.outputs}
    return Expected(case, inputs, autograd(case, inputs), scales)


def autograd(case: Case, inputs: Tensors) -> dict[str, torch.Tensor]:
    """dq_ptr, dk_ptr and dv_ptr in float64, by PyTorch. What sees nothing is left out, as 0 times a row that sees everything."""
    q, k, v, do = (inputs[f"{name}_ptr"].cuda().double() for name in ("q", "k", "v", "do"))
    for x in (q, k, v):
        x.requires_grad_()
    group = case.sizes["H_Q"] // case.sizes["H_KV"]
    visible = seen(case, key_lengths(case)).cuda()
    some = visible.any(dim=-1, keepdim=True)
    s = (q @ k.repeat_interleave(group, dim=1).mT) * scale_of(case)
    p = torch.softmax(s.masked_fill(~visible & some, -torch.inf), dim=-1) * some
    found = torch.autograd.grad(p @ v.repeat_interleave(group, dim=1), (q, k, v), do)
    return {name: x.cpu() for name, x in zip(("dq_ptr", "dk_ptr", "dv_ptr"), found, strict=True)}


def bound(puzzle: Puzzle, case: Case, inputs: Tensors, configuration: tuple[int, int, int, int]) -> Launch:
    """A launch on tensors of its own; outputs hold NaN before."""
    block_m, block_n, warps, stages = configuration
    needed = [name for name in puzzle.parameters if name in inputs]
    tensors = {name: inputs[name].clone(memory_format=torch.preserve_format) for name in needed}
    for output in puzzle.outputs:
        tensors[output].fill_(torch.nan)
    launch = puzzle.launch(case, tensors, {"BLOCK_M": block_m, "BLOCK_N": block_n})
    return replace(launch, options={"num_warps": warps, "num_stages": stages})


def launched(kernel: Any, launch: Launch) -> Mapping[str, torch.Tensor]:
    """The tensors after it; the test is skipped where this GPU has too little room on chip for such tiles."""
    try:
        return gpu.launch_kernel(kernel, launch)
    except gpu.GpuError as error:
        if error.status == "resource_limit":
            pytest.skip(f"too large for this GPU: {error.message}")
        raise


def worst(puzzle: Puzzle, wanted: Expected, after: Mapping[str, torch.Tensor]) -> float:
    """The largest error over what is allowed."""
    known = replace(puzzle, scale=lambda case, output, expected: wanted.scales[output])
    errors = (error_against(known, wanted.case, o, after[o], wanted.gradients[o]) for o in puzzle.outputs)
    return max(float(error.max()) for error in errors)


@pytest.mark.parametrize("name", NAMES)
def test_a_solution_is_right_in_every_case_and_dtype(sandbox, name):
    verdict = judge(PUZZLES[name], solution(name), sandbox, device="cuda", diagnose=False)
    assert verdict.passed, verdict.failure
    assert {g.gate: g.status for g in verdict.gates}["gpu"] == "passed"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", WIDTHS)
def test_the_configurations_of_the_course_are_right_at_every_length(kernels, d, dtype):
    """All in one test, since what is expected takes much longer to compute than the gradients."""
    wrong = []
    for n, causal, name, configuration in itertools.product(LENGTHS, (False, True), NAMES, COURSE):
        wanted = expected(n, d, dtype, causal)
        try:
            after = gpu.launch_kernel(kernels[name], bound(PUZZLES[name], wanted.case, wanted.inputs, configuration))
            error = worst(PUZZLES[name], wanted, after)
        except gpu.GpuError as failure:
            wrong.append((name, configuration, n, causal, failure.message))
            continue
        if not error <= 1:
            wrong.append((name, configuration, n, causal, error))
    assert wrong == []


@pytest.mark.parametrize(("d", "dtype"), [(32, "bfloat16"), (64, "float32"), (64, "float16"), (64, "bfloat16"), (128, "bfloat16")])  # fmt: skip
@pytest.mark.parametrize("configuration", CHOSEN, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_tiles_warps_and_stages_that_a_learner_may_choose_change_nothing(kernels, name, configuration, d, dtype):
    """Right, and the same bits every time: no two programs add to one element."""
    for causal in (False, True):
        wanted = expected(1000, d, dtype, causal)
        launch = bound(PUZZLES[name], wanted.case, wanted.inputs, configuration)
        outputs = [launched(kernels[name], launch) for _ in range(4)]
        assert worst(PUZZLES[name], wanted, outputs[0]) <= 1, f"causal: {causal}"
        for other in outputs[1:]:
            assert all(torch.equal(outputs[0][o], other[o]) for o in PUZZLES[name].outputs)


# ---- PyTorch's own kernels ----------------------------------------------------------------------------------------------

N = 4096
CLOSE = {"float16": 2e-3, "bfloat16": 1e-2}
"""How far two gradients may be apart, of the length of either: P and dS are rounded to half precision, and theirs the output, too."""


def ours(kernels, case: Case, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, do: torch.Tensor) -> dict[str, torch.Tensor]:  # fmt: skip
    """dq_ptr, dk_ptr and dv_ptr as the solutions give them, in float64; log-sum-exp and Δ are those of float64."""
    group = case.sizes["H_Q"] // case.sizes["H_KV"]
    lengths = key_lengths(case)
    keys, values = (x.cuda().double().repeat_interleave(group, dim=1) for x in (k, v))
    o, lse = attention(q.cuda().double(), keys, values, scale_of(case), seen(case, lengths).cuda())
    delta = (do.cuda().double() * o).sum(-1)
    inputs = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "do_ptr": do, "key_lengths_ptr": lengths}
    inputs |= {"lse_ptr": lse.float().cpu(), "delta_ptr": delta.float().cpu()}
    inputs |= {"dq_ptr": torch.empty_like(q), "dk_ptr": torch.empty_like(k), "dv_ptr": torch.empty_like(v)}
    found = {}
    for name in NAMES:
        after = launched(kernels[name], bound(PUZZLES[name], case, inputs, (64, 64, 4, 2)))
        found |= {output: after[output].double() for output in PUZZLES[name].outputs}
    return found


def by_flex_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    mask = None
    if causal:
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, N, N, device="cuda")
    return torch.compile(flex_attention)(q, k, v, block_mask=mask, enable_gqa=True)


def by_cudnn(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)


@pytest.mark.filterwarnings("ignore::UserWarning")  # a backend that is not available says why at length
@pytest.mark.parametrize(("d", "dtype", "causal"), [(64, "bfloat16", True), (128, "float16", True), (64, "float16", False)])  # fmt: skip
@pytest.mark.parametrize("theirs", [by_flex_attention, by_cudnn], ids=["FlexAttention", "cuDNN"])
def test_gradients_of_pytorch_agree(kernels, theirs, d, dtype, causal):
    case = heads_case(1, (4, 2), (N, N), d, (64, 64), {"IS_CAUSAL": causal}, dtype=dtype)
    draw = torch.Generator().manual_seed(5)
    shapes = {"q": (1, 4, N, d), "k": (1, 2, N, d), "v": (1, 2, N, d), "do": (1, 4, N, d)}
    q, k, v, do = (torch.randn(shape, generator=draw).to(DTYPES[dtype]) for shape in shapes.values())
    found = ours(kernels, case, q, k, v, do)
    inputs = [x.cuda().requires_grad_() for x in (q, k, v)]
    try:
        o = theirs(*inputs, causal)
        gradients = torch.autograd.grad(o, inputs, do.cuda())
    except RuntimeError as error:
        if "No available kernel" in str(error) or "No viable backend" in str(error):
            pytest.skip("PyTorch has no such kernel for this GPU")
        raise
    exact = autograd(case, {"q_ptr": q, "k_ptr": k, "v_ptr": v, "do_ptr": do})
    for name, gradient in zip(("dq_ptr", "dk_ptr", "dv_ptr"), gradients, strict=True):
        other, mine = gradient.double().cpu(), found[name]
        assert (mine - exact[name]).norm() <= CLOSE[dtype] * exact[name].norm(), name
        assert (mine - other).norm() <= 2 * CLOSE[dtype] * other.norm(), name
