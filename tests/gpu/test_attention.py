"""FlashAttention on a GPU agrees with every backend of PyTorch's attention, also where compilers have been wrong before."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from checker import gpu
from checker.course import PUZZLES
from checker.course.attention import attention
from checker.course.attention_values import negative, positive, ramp
from checker.judge.comparison import error_against
from checker.puzzle import NORMAL, Case, Family

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cuda")]

NAMES = ("flash_attention", "flash_attention_v1", "flash_attention_heads")
BACKENDS = (SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION)
FAMILIES = (NORMAL, ramp, negative, positive)
SMALL = [(1, 16, 16), (17, 16, 16), (65, 32, 32), (100, 64, 32), (129, 32, 64), (257, 16, 64)]  # N, D, tile
LARGE = [(1031, 64, 64), (2048, 128, 64), (4099, 64, 128)]
USUAL = (("float32", True), ("float16", True), ("bfloat16", False))
COMPILED = [(size, dtype, causal) for size in SMALL for dtype, causal in USUAL]
COMPILED += [(SMALL[4], dtype, not causal) for dtype, causal in USUAL]
COMPILED += [(size, dtype, causal) for size in LARGE for dtype, causal in USUAL[1:]]
COMPILED += [(LARGE[0], "float32", True)]


def heads_case(n: int, d: int, tile: int, dtype: str, causal: bool, family: Family, group: int = 1) -> Case:
    sizes = {"B": 2, "H_Q": 4, "H_KV": 4 // group, "N_Q": n, "N_KV": n, "D": d}
    flags = {"IS_CAUSAL": causal, "RAGGED": False}
    return Case(sizes, {"BLOCK_M": tile, "BLOCK_N": min(tile, 64)}, dtype, family, "transposed", flags=flags)


def by_pytorch(case: Case, tensors: dict[str, torch.Tensor], backend: SDPBackend) -> torch.Tensor | None:
    """The output of one of PyTorch's backends, or None if it does not support these inputs."""
    q, k, v = (tensors[name].cuda() for name in ("q_ptr", "k_ptr", "v_ptr"))
    grouped = case.sizes["H_Q"] != case.sizes["H_KV"]
    try:
        with sdpa_kernel(backend):
            o = torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=bool(case.flags["IS_CAUSAL"]), enable_gqa=grouped
            )
    except RuntimeError as error:
        if "No available kernel" in str(error) or "No viable backend" in str(error):
            return None
        raise
    return o.double().cpu()


def apart(puzzle, case: Case, a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference over what the puzzle's tolerance allows."""
    return float(error_against(puzzle, case, "o_ptr", a, b.double()).max())


@pytest.mark.filterwarnings("ignore::UserWarning")  # unavailable backends warn at length
@pytest.mark.parametrize(("size", "dtype", "causal"), COMPILED, ids=str)
def test_every_backend_of_pytorch_agrees(kernels, size, dtype, causal):
    puzzle, (n, d, tile) = PUZZLES["flash_attention_heads"], size
    for family, group in itertools.product(FAMILIES, (1, 2)):
        case = heads_case(n, d, tile, dtype, causal, family, group)
        tensors = puzzle.make(case)
        after = gpu.launch_kernel(kernels[puzzle.name], puzzle.launch(case, tensors, case.meta))
        compared = set()
        for backend in BACKENDS:
            other = by_pytorch(case, tensors, backend)
            if other is None:
                continue
            assert apart(puzzle, case, after["o_ptr"], other) <= 2, f"{family}, {backend}"  # both have small errors
            compared.add(backend)
        assert SDPBackend.MATH in compared
        if dtype != "float32" and group == 1:
            assert SDPBackend.FLASH_ATTENTION in compared
        assert after["lse_ptr"].isfinite().all()


HAZARDS = [(128, 128, 8, 3), (128, 64, 8, 3), (64, 64, 4, 3), (64, 64, 8, 2), (128, 128, 4, 2), (64, 128, 8, 2)]
"""BLOCK_M, BLOCK_N, warps, stages."""


def with_options(launch, warps: int, stages: int):
    return replace(launch, options={"num_warps": warps, "num_stages": stages})


def assert_right_and_the_same_every_time(kernels, name: str, case: Case, warps: int, stages: int) -> None:
    """Four launches are equal bit by bit, and right against float64."""
    puzzle = PUZZLES[name]
    tensors = puzzle.make(case)
    launch = with_options(puzzle.launch(case, tensors, case.meta), warps, stages)
    outputs = [gpu.launch_kernel(kernels[name], launch)["o_ptr"] for _ in range(4)]
    q, k, v = (tensors[name].cuda().double() for name in ("q_ptr", "k_ptr", "v_ptr"))
    assert apart(puzzle, case, outputs[0], attention(q, k, v, case.sizes["D"] ** -0.5)[0].cpu()) <= 1
    for other in outputs[1:]:
        assert torch.equal(outputs[0], other)


@pytest.mark.parametrize(("d", "dtype"), [(64, "float16"), (128, "bfloat16")])
@pytest.mark.parametrize(("block_m", "block_n", "warps", "stages"), HAZARDS)
def test_tiles_warps_and_stages_change_nothing(kernels, block_m, block_n, warps, stages, d, dtype):
    """A pipelined product whose left operand is in registers raced in Triton 3.6; other versions were wrong with eight warps."""
    meta = {"BLOCK_M": block_m, "BLOCK_N": block_n}
    case = Case({"N_Q": 1031, "N_KV": 4099, "D": d}, meta, dtype, ramp)
    assert_right_and_the_same_every_time(kernels, "flash_attention", case, warps, stages)


@pytest.mark.parametrize(("block_m", "block_n", "warps", "stages"), HAZARDS)
def test_causal_grouped_heads_with_other_tiles(kernels, block_m, block_n, warps, stages):
    """Tiles of keys wider than tiles of queries, and more queries than keys, so some rows see nothing."""
    puzzle, d = PUZZLES["flash_attention_heads"], 64
    meta = {"BLOCK_M": block_m, "BLOCK_N": block_n}
    sizes = {"B": 2, "H_Q": 4, "H_KV": 2, "N_Q": 1500, "N_KV": 1031, "D": d}
    case = Case(sizes, meta, "bfloat16", ramp, "transposed", flags={"IS_CAUSAL": True, "RAGGED": True})
    tensors = puzzle.make(case)
    launch = with_options(puzzle.launch(case, tensors, meta), warps, stages)
    first, second = (gpu.launch_kernel(kernels[puzzle.name], launch) for _ in range(2))
    inputs = {name: t.double() if t.is_floating_point() else t for name, t in tensors.items()}
    expected = puzzle.reference(case, inputs)
    assert apart(puzzle, case, first["o_ptr"], expected["o_ptr"]) <= 1
    seen = expected["lse_ptr"].isfinite()
    assert torch.equal(first["lse_ptr"].isfinite(), seen)
    torch.testing.assert_close(first["lse_ptr"][seen].double(), expected["lse_ptr"][seen], rtol=1e-4, atol=1e-2)
    assert (first["o_ptr"][~seen] == 0).all()
    assert torch.equal(first["o_ptr"], second["o_ptr"])


@pytest.mark.parametrize(("block_m", "block_n", "warps"), [(64, 64, 8), (128, 32, 4), (32, 128, 8)])
def test_the_first_loop_order_reads_what_it_stored(kernels, block_m, block_n, warps):
    """Two visits of one program share state through memory, so a missing barrier makes launches differ."""
    meta = {"BLOCK_M": block_m, "BLOCK_N": block_n}
    case = Case({"H": 64, "N_Q": 777, "N_KV": 1031, "D": 64}, meta, "bfloat16", ramp)
    assert_right_and_the_same_every_time(kernels, "flash_attention_v1", case, warps, 1)
