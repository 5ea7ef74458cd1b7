"""Whole kernels of the ladder: right values, no findings, the traffic that theory says."""

import pytest
import torch

from checker.simulator import SimulateOptions
from tests.simulator import kernels
from tests.simulator.launching import nans, run, run_with


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 16), (4, 37), (2, 64)])
@pytest.mark.parametrize(
    "kernel", [kernels.row_softmax, kernels.chunked_softmax, kernels.online_softmax], ids=lambda k: k.__name__
)
def test_softmax_of_rows(kernel, m, n):
    x, y = torch.randn(m, n) * 5 - 60, nans(m, n)
    block = 64 if kernel is kernels.row_softmax else 16
    trace = run(kernel, (m,), ("y_ptr",), {"BLOCK_N": block}, x_ptr=x, y_ptr=y, stride_xm=n, stride_ym=n, N=n)
    torch.testing.assert_close(y, x.softmax(-1))
    assert trace.findings == []
    passes = {kernels.row_softmax: 1, kernels.chunked_softmax: 3, kernels.online_softmax: 2}[kernel]
    assert trace.traffic["x_ptr"].loaded == passes * m * n * 4
    assert trace.traffic["x_ptr"].stored == 0
    assert trace.traffic["y_ptr"].stored == m * n * 4
    assert trace.writers["y_ptr"].tolist() == [row for row in range(m) for _ in range(n)]


@pytest.mark.parametrize("order", ["row-major", "reversed", "shuffled"])
def test_tiled_softmax_in_any_order(order):
    m, n = 21, 37
    x, y = torch.randn(m, n), nans(m, n)
    trace = run_with(
        SimulateOptions(order=order, explain_nan=True),
        kernels.tiled_softmax,
        (3,),
        ("y_ptr",),
        {"BLOCK_M": 8, "BLOCK_N": 16},
        x_ptr=x, y_ptr=y, stride_xm=n, stride_ym=n, M=m, N=n,
    )  # fmt: skip
    torch.testing.assert_close(y, x.softmax(-1))
    assert trace.findings == []
    assert trace.events == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_flash_attention(dtype, causal):
    heads, n, d = 2, 45, 16
    q, k, v = (torch.randn(heads, n, d).to(dtype) for _ in range(3))
    o = nans(heads, n, d, dtype=dtype)
    trace = run(
        kernels.flash_attention, (3, heads), ("o_ptr",),
        {"D": d, "BLOCK_M": 16, "BLOCK_N": 16, "IS_CAUSAL": causal, "PRECISION": "ieee"},
        q_ptr=q, k_ptr=k, v_ptr=v, o_ptr=o, stride_h=n * d, stride_n=d, N=n, scale=d**-0.5,
    )  # fmt: skip
    s = q.double() @ k.double().mT * d**-0.5
    if causal:
        s = s.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), -torch.inf)
    tolerance = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    torch.testing.assert_close(o.double(), s.softmax(-1) @ v.double(), rtol=tolerance, atol=tolerance)
    assert trace.findings == []
    tiles = 6 if causal else 9
    assert trace.flops == heads * tiles * 2 * (2 * 16 * 16 * d)
    assert trace.traffic["q_ptr"].loaded == heads * n * d * q.element_size()
    assert sum(e.kind == "dot" for e in trace.events) == 2 * tiles * heads
