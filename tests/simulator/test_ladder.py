"""Whole kernels of the ladder: right values, no findings, the traffic that theory says."""

import pytest
import torch

from checker.simulator import SimulateOptions, simulate
from tests.simulator import kernels
from tests.simulator.launching import EVENTS, attention_launch, softmax


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 16), (4, 37), (2, 64)])
@pytest.mark.parametrize("kernel", [kernels.row_softmax, kernels.online_softmax], ids=lambda k: k.__name__)
def test_softmax_of_rows(kernel, m, n):
    x = torch.randn(m, n) * 5 - 60
    trace, y = softmax(kernel, x, BLOCK_N=64 if kernel is kernels.row_softmax else 16)
    torch.testing.assert_close(y, x.softmax(-1))
    assert trace.findings == []
    passes = {kernels.row_softmax: 1, kernels.online_softmax: 2}[kernel]
    assert trace.traffic["x_ptr"].loaded == passes * m * n * 4
    assert trace.traffic["x_ptr"].stored == 0
    assert trace.traffic["y_ptr"].stored == m * n * 4
    assert trace.writers["y_ptr"].tolist() == [row for row in range(m) for _ in range(n)]


@pytest.mark.parametrize("order", ["row-major", "reversed", "shuffled"])
def test_tiled_softmax_in_any_order(order):
    x, options = torch.randn(21, 37), SimulateOptions(order=order, explain_nan=True)
    trace, y = softmax(kernels.tiled_softmax, x, options, BLOCK_M=8, BLOCK_N=16)
    torch.testing.assert_close(y, x.softmax(-1))
    assert trace.findings == []
    assert trace.events == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_flash_attention(dtype, causal):
    heads, n, d = 2, 45, 16
    launch = attention_launch(heads, n, causal, (16, 16), dtype=dtype)
    trace = simulate(kernels.flash_attention, launch, EVENTS)
    q, k, v, o = (launch.arguments[f"{name}_ptr"] for name in "qkvo")
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
