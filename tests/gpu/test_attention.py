"""FlashAttention on a GPU is right in every configuration that a learner may choose, also where compilers have been wrong before.

A pipelined product whose left operand is in registers raced in Triton 3.6, and other versions were wrong with eight warps. In 3.4 to
3.7.0, transposing an accumulator for the next product silently gives wrong gradients on Hopper in tiles of 64
(flash-linear-attention, issues 640 and 983).
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import pytest
import torch

from checker import gpu
from checker.course import PUZZLES
from checker.course.attention_values import ramp
from checker.judge.comparison import error_against
from checker.puzzle import NORMAL, Case, Family, Tensors

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cuda")]

NAMES = ("flash_attention", "flash_attention_v1", "flash_attention_heads", "attention_dkdv", "attention_dq")
TILES = [(64, 64, 4, 3), (64, 64, 8, 2), (64, 128, 8, 2), (128, 64, 8, 3), (128, 128, 8, 3), (128, 128, 4, 2)]
"""BLOCK_M, BLOCK_N, warps, stages: the forward pass."""
FURTHER = [(64, 64, 4, 1), (64, 64, 4, 3), (64, 64, 8, 2), (64, 64, 2, 2), (32, 128, 4, 3), (128, 32, 8, 2)]
FURTHER += [(16, 16, 4, 2), (64, 32, 4, 2), (32, 64, 4, 2), (128, 64, 8, 3), (64, 128, 8, 2), (128, 128, 8, 2)]
"""The gradients: the course's own tiles, those of bug reports, more stages, more and fewer warps."""
Configuration = tuple[int, int, int, int]


def heads(n_q: int, n_kv: int, d: int, dtype: str, causal: bool, family: Family = NORMAL) -> Case:
    """With more queries than keys some see nothing, and key lengths cut a text short or leave it empty."""
    sizes = {"B": 3, "H_Q": 4, "H_KV": 2, "N_Q": n_q, "N_KV": n_kv, "D": d}
    flags = {"IS_CAUSAL": causal, "RAGGED": 1}
    return Case(sizes, {"BLOCK_M": 64, "BLOCK_N": 64}, dtype, family, "transposed", flags=flags)


@functools.cache
def known(name: str, case: Case) -> tuple[Tensors, Tensors]:
    """The tensors of a case and what is expected of them, which takes much longer to compute than the kernel."""
    puzzle, tensors = PUZZLES[name], PUZZLES[name].make(case)
    inputs = {n: t.double() if t.is_floating_point() else t for n, t in tensors.items() if n not in puzzle.outputs}
    return tensors, puzzle.reference(case, inputs)


def assert_right_and_the_same_every_time(kernels: Any, name: str, case: Case, configuration: Configuration) -> None:
    """Every number is right, also of queries that see nothing, and four launches are equal bit by bit."""
    puzzle, (block_m, block_n, warps, stages) = PUZZLES[name], configuration
    tensors, expected = known(name, case)
    launch = puzzle.launch(case, tensors, {"BLOCK_M": block_m, "BLOCK_N": block_n})
    launch = replace(launch, options={"num_warps": warps, "num_stages": stages})
    try:
        first, *others = (gpu.launch_kernel(kernels[name], launch) for _ in range(4))
    except gpu.GpuError as error:
        if error.status == "resource_limit":
            pytest.skip(f"too large for this GPU: {error.message}")
        raise
    for output in puzzle.outputs:
        assert error_against(puzzle, case, output, first[output], expected[output]).max() <= 1, output
        assert all(torch.equal(first[output], other[output]) for other in others), output


@pytest.mark.parametrize("configuration", TILES, ids=str)
def test_the_forward_pass_in_any_tiles(kernels: Any, configuration: Configuration) -> None:
    one_head = {"N_Q": 1031, "N_KV": 4099}
    for d, dtype in ((64, "float16"), (128, "bfloat16")):
        case = Case({**one_head, "D": d}, {"BLOCK_M": 64, "BLOCK_N": 64}, dtype, ramp)
        assert_right_and_the_same_every_time(kernels, "flash_attention", case, configuration)
    for causal in (False, True):
        case = heads(1500, 1031, 64, "bfloat16", causal, ramp)
        assert_right_and_the_same_every_time(kernels, "flash_attention_heads", case, configuration)


@pytest.mark.parametrize("configuration", [(64, 64, 8, 1), (128, 32, 4, 1), (32, 128, 8, 1)], ids=str)
def test_the_first_loop_order_reads_what_it_stored(kernels: Any, configuration: Configuration) -> None:
    """Two visits of one program share state through memory, so a missing barrier makes launches differ."""
    case = Case({"H": 64, "N_Q": 777, "N_KV": 1031, "D": 64}, {"BLOCK_M": 64, "BLOCK_N": 64}, "bfloat16", ramp)
    assert_right_and_the_same_every_time(kernels, "flash_attention_v1", case, configuration)


@pytest.mark.parametrize("configuration", FURTHER, ids=str)
@pytest.mark.parametrize("name", ["attention_dkdv", "attention_dq"])
def test_the_gradients_in_any_tiles(kernels: Any, name: str, configuration: Configuration) -> None:
    for d, dtype in ((32, "bfloat16"), (64, "float32"), (64, "float16"), (64, "bfloat16"), (128, "bfloat16")):
        for n_q, causal in ((1000, False), (1000, True), (17, True)):
            case = heads(n_q, max(1, n_q - n_q // 4), d, dtype, causal)
            assert_right_and_the_same_every_time(kernels, name, case, configuration)
