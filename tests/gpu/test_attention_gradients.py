"""The gradients of attention on a GPU agree with float64 in every configuration, also beyond the course's own tiles.

In Triton 3.4 to 3.7.0, transposing an accumulator for the next product silently gives wrong gradients on Hopper in tiles of 64
(flash-linear-attention, issues 640 and 983).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
import torch

from checker import gpu
from checker.course import PUZZLES
from checker.course.attention_heads import key_lengths, seen
from checker.course.attention_values import scale_of
from checker.judge.comparison import error_against
from checker.puzzle import DTYPES, Case, Launch, Puzzle, Tensors
from tests.course.attention import heads_case

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cuda")]

NAMES = ("attention_dkdv", "attention_dq")
WIDTHS = (32, 64, 128)
LENGTHS = (1, 17, 129, 1000, 4096)
COURSE = [(16, 16, 4, 2), (64, 32, 4, 2), (32, 64, 4, 2), (64, 64, 4, 2)]
"""BLOCK_M, BLOCK_N, warps and stages of the puzzles' own cases."""
FURTHER = [
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
"""A learner's other options: tiles named in bug reports, more stages, more and fewer warps."""


class Expected(NamedTuple):
    """The inputs, the gradients in float64, and the scale of each gradient's allowed error."""

    case: Case
    inputs: Tensors
    gradients: Mapping[str, torch.Tensor]
    scales: Mapping[str, torch.Tensor]


@functools.cache
def expected(n: int, d: int, dtype: str, causal: bool) -> Expected:
    """Below 4096, more queries than keys, so that some see nothing, and key lengths that cut a text short or leave it empty."""
    if n == 4096:
        case = heads_case(1, (2, 1), (n, n), d, 64, {"IS_CAUSAL": causal}, dtype=dtype)
    else:
        flags = {"IS_CAUSAL": causal, "RAGGED": 1}
        case = heads_case(3, (4, 2), (n, max(1, n - n // 4)), d, 64, flags, dtype=dtype, layout="transposed")
    inputs: Tensors = {}
    scales = {}
    for name in NAMES:
        puzzle = PUZZLES[name]
        inputs |= puzzle.make(case)
        scales |= {output: puzzle.scale(case, output, torch.zeros(())) for output in puzzle.outputs}
    return Expected(case, inputs, autograd(case, inputs), scales)


def autograd(case: Case, inputs: Tensors) -> dict[str, torch.Tensor]:
    """dq_ptr, dk_ptr and dv_ptr in float64, by PyTorch. Rows that see nothing count as 0 times a row that sees everything."""
    q, k, v, do = (inputs[f"{name}_ptr"].cuda().double() for name in ("q", "k", "v", "do"))
    for x in (q, k, v):
        x.requires_grad_()
    group = case.sizes["H_Q"] // case.sizes["H_KV"]
    visible = seen(case, key_lengths(case)).cuda()
    some = visible.any(dim=-1, keepdim=True)
    s = (q @ k.repeat_interleave(group, dim=1).mT) * scale_of(case)
    p = torch.softmax(s.masked_fill(~visible & some, -torch.inf), dim=-1) * some
    gradients = torch.autograd.grad(p @ v.repeat_interleave(group, dim=1), (q, k, v), do)
    return {name: x.cpu() for name, x in zip(("dq_ptr", "dk_ptr", "dv_ptr"), gradients, strict=True)}


def bound(puzzle: Puzzle, case: Case, inputs: Tensors, configuration: tuple[int, int, int, int]) -> Launch:
    """A launch on its own copies of the tensors; the outputs start as NaN."""
    block_m, block_n, warps, stages = configuration
    needed = [name for name in puzzle.parameters if name in inputs]
    tensors = {name: inputs[name].clone(memory_format=torch.preserve_format) for name in needed}
    for output in puzzle.outputs:
        tensors[output].fill_(torch.nan)
    launch = puzzle.launch(case, tensors, {"BLOCK_M": block_m, "BLOCK_N": block_n})
    return replace(launch, options={"num_warps": warps, "num_stages": stages})


def launched(kernel: Any, launch: Launch) -> Mapping[str, torch.Tensor]:
    """The tensors after the launch; skips the test if the tiles do not fit on this GPU's chip."""
    try:
        return gpu.launch_kernel(kernel, launch)
    except gpu.GpuError as error:
        if error.status == "resource_limit":
            pytest.skip(f"too large for this GPU: {error.message}")
        raise


def worst(puzzle: Puzzle, wanted: Expected, after: Mapping[str, torch.Tensor]) -> float:
    """The largest error, relative to the allowed error."""
    known = replace(puzzle, scale=lambda case, output, expected: wanted.scales[output])
    errors = (error_against(known, wanted.case, o, after[o], wanted.gradients[o]) for o in puzzle.outputs)
    return max(float(error.max()) for error in errors)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", WIDTHS)
def test_the_configurations_of_the_course_are_right_at_every_length(kernels, d, dtype):
    """One test, because computing the expected values takes much longer than the gradients."""
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


@pytest.mark.parametrize(
    ("d", "dtype"), [(32, "bfloat16"), (64, "float32"), (64, "float16"), (64, "bfloat16"), (128, "bfloat16")]
)
@pytest.mark.parametrize("configuration", FURTHER, ids=str)
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
