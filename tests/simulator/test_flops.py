"""Floating-point work of lanes: one for each element of a result, and none for addresses, masks and comparisons."""

import pytest
import torch
import triton
import triton.language as tl

from checker.simulator import SimulateOptions, simulate
from tests.simulator import kernels
from tests.simulator.launching import EXPLAIN, attention_launch, kernel_of, nans, run, softmax

LANES = 16
COUNTED = {
    **dict.fromkeys(("x + 1.0", "x - x", "-x", "x * 2.0", "x / 3.0", "x % 2.0"), LANES),
    **dict.fromkeys(("tl.maximum(x, 0.0)", "tl.minimum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)"), LANES),
    "tl.cumsum(x, axis=0)": LANES,
    **dict.fromkeys(("tl.fma(x, x, x)", "tl.clamp(x, 0.0, 1.0)"), 2 * LANES),
    **dict.fromkeys(("x + tl.sum(x, axis=0)", "x - tl.max(x, axis=0)"), 2 * LANES),  # the reduction, then + or -
    "x + tl.load(x_ptr) * 2.0": LANES + 1,
    **dict.fromkeys(("x", "tl.where(x > 0.0, x, 1.0)", "tl.abs(x)", "x.to(tl.float16).to(tl.float32)"), 0),
    "(offs * 3 + tl.sum(offs, axis=0) - tl.maximum(offs, 2)).to(tl.float32)": 0,
}
ONLY_FLOAT32 = dict.fromkeys(("tl.div_rn(x, x)", "tl.exp(x)", "tl.exp2(x)", "tl.rsqrt(x)"), LANES)  # not in 16 bits


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_an_element_is_one_operation(dtype, tmp_path):
    for expression, flops in {**COUNTED, **(ONLY_FLOAT32 if dtype == torch.float32 else {})}.items():
        kernel = kernel_of(tmp_path, f"tl.store(y_ptr + offs, {expression})")
        trace = run(kernel, (3,), ("y_ptr",), {}, x_ptr=torch.ones(LANES, dtype=dtype), y_ptr=nans(LANES, dtype=dtype))
        assert (trace.lane_flops, trace.flops) == (3 * flops, 0), expression


def test_masked_lanes_occupy_the_chip_too():
    """A row of 10 in a tile of 16: maximum, difference, exponential, sum, quotient."""
    trace, _ = softmax(kernels.row_softmax, torch.randn(5, 10), BLOCK_N=16)
    assert trace.lane_flops == 5 * 16 * 5


@pytest.mark.parametrize("options", [SimulateOptions(), EXPLAIN], ids=["plain", "explained"])
def test_a_dot_and_the_lanes_around_it_are_counted_apart(options):
    trace, d = simulate(kernels.flash_attention, attention_launch(1, 32, False, (16, 16)), options), 16
    assert trace.flops == 4 * 2 * (2 * 16 * 16 * d)
    scores = 16 * 16 * 5  # times the scale, row's maximum, minus it, exponential, sum
    rows = 16 * 5  # larger maximum, difference and exponential for alpha, sum times alpha, plus the tile's
    accumulator = 16 * d * 2  # times alpha, and the product's sum added to it
    assert trace.lane_flops == 4 * (scores + rows + accumulator) + 2 * 16 * d


@triton.jit
def atomics(x_ptr, n_ptr, N, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.atomic_add(x_ptr + offs, tl.full((BLOCK,), 1.0, tl.float32), mask=offs < N)
    tl.atomic_add(n_ptr + offs, tl.full((BLOCK,), 1, tl.int32), mask=offs < N)


def test_an_atomic_addition_counts_its_active_lanes():
    x, n = torch.zeros(11), torch.zeros(11, dtype=torch.int32)
    trace = run(atomics, (4,), ("x_ptr", "n_ptr"), {"BLOCK": 16}, x_ptr=x, n_ptr=n, N=11)
    assert trace.lane_flops == 4 * 11
    assert x.tolist() == n.tolist() == [4] * 11
    assert trace.findings == []
