"""Floating-point work of lanes: one for each element of a result, and none for addresses, masks and comparisons."""

import pytest
import torch
import triton
import triton.language as tl

from checker.simulator import SimulateOptions
from tests.simulator import kernels
from tests.simulator.launching import nans, run, run_with

LANES = 16


@triton.jit
def one(x_ptr, y_ptr, KIND: tl.constexpr):
    """One operation on a tile [4, 4] of floats, or something beside it that is not counted."""
    offs = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    x = tl.load(x_ptr + offs)
    y = x
    if KIND == "add":
        y = x + 1.0
    elif KIND == "subtract":
        y = x - x
    elif KIND == "negate":
        y = -x
    elif KIND == "multiply":
        y = x * 2.0
    elif KIND == "divide":
        y = x / 3.0
    elif KIND == "divide, rounded":
        y = tl.div_rn(x, x)
    elif KIND == "remainder":
        y = x % 2.0
    elif KIND == "maximum":
        y = tl.maximum(x, 0.0)
    elif KIND == "minimum, NaN kept":
        y = tl.minimum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)
    elif KIND == "exp":
        y = tl.exp(x)
    elif KIND == "exp2":
        y = tl.exp2(x)
    elif KIND == "rsqrt":
        y = tl.rsqrt(x)
    elif KIND == "fma":
        y = tl.fma(x, x, x)
    elif KIND == "clamp":
        y = tl.clamp(x, 0.0, 1.0)
    elif KIND == "sum":
        y = x + tl.sum(x, axis=1)[:, None]
    elif KIND == "max":
        y = x - tl.max(x, axis=0)[None, :]
    elif KIND == "running sum":
        y = tl.cumsum(x, axis=0)
    elif KIND == "scalar":
        y = x + tl.load(x_ptr) * 2.0
    elif KIND == "integers":
        y = (offs * 3 + tl.sum(offs, axis=1)[:, None] - tl.maximum(offs, 2)).to(tl.float32)
    elif KIND == "compare":
        y = tl.where(x > 0.0, x, 1.0)
    elif KIND == "abs":
        y = tl.abs(x)
    elif KIND == "cast":
        y = x.to(tl.float16).to(tl.float32)
    tl.store(y_ptr + offs, y)


COUNTED = {
    **dict.fromkeys(("add", "subtract", "negate", "multiply", "divide", "remainder"), LANES),
    **dict.fromkeys(("maximum", "minimum, NaN kept", "running sum"), LANES),
    **dict.fromkeys(("fma", "clamp", "sum", "max"), 2 * LANES),  # sum and max: the reduction, then + or -
    "scalar": LANES + 1,
    **dict.fromkeys(("none", "integers", "compare", "abs", "cast"), 0),
}
ONLY_FLOAT32 = dict.fromkeys(("divide, rounded", "exp", "exp2", "rsqrt"), LANES)  # Triton refuses 16 bits


@pytest.mark.parametrize(
    ("kind", "flops", "dtype"),
    [(kind, flops, torch.float32) for kind, flops in {**COUNTED, **ONLY_FLOAT32}.items()]
    + [(kind, flops, torch.bfloat16) for kind, flops in COUNTED.items()],
    ids=str,
)
def test_an_element_is_one_operation(kind, flops, dtype):
    x, y = torch.ones(4, 4, dtype=dtype), nans(4, 4, dtype=dtype)
    trace = run(one, (3,), ("y_ptr",), {"KIND": kind}, x_ptr=x, y_ptr=y)
    assert (trace.lane_flops, trace.flops) == (3 * flops, 0)


def test_masked_lanes_occupy_the_chip_too():
    """A row of 10 in a tile of 16: maximum, difference, exponential, sum, quotient."""
    x, y = torch.randn(5, 10), nans(5, 10)
    trace = run(
        kernels.row_softmax, (5,), ("y_ptr",), {"BLOCK_N": 16}, x_ptr=x, y_ptr=y, stride_xm=10, stride_ym=10, N=10
    )
    assert trace.lane_flops == 5 * 16 * 5


@pytest.mark.parametrize("options", [SimulateOptions(), SimulateOptions(explain_nan=True)], ids=["plain", "explained"])
def test_a_dot_and_the_lanes_around_it_are_counted_apart(options):
    n, d = 32, 16
    q, k, v, o = *(torch.randn(1, n, d) for _ in range(3)), nans(1, n, d)
    trace = run_with(
        options, kernels.flash_attention, (2, 1), ("o_ptr",),
        {"D": d, "BLOCK_M": 16, "BLOCK_N": 16, "IS_CAUSAL": False, "PRECISION": "ieee"},
        q_ptr=q, k_ptr=k, v_ptr=v, o_ptr=o, stride_h=n * d, stride_n=d, N=n, scale=0.25,
    )  # fmt: skip
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
