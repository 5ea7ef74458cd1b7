"""The fast solutions give what float64 gives: every configuration of every kernel, in the simulator, on lengths that fit no tile."""

from __future__ import annotations

import pytest
import torch

from solutions.fast import attention, attention_backward, linear_attention, softmax
from tests.fast import exact
from tests.fast.exact import apart, normal
from tests.fast.launches import caught, simulated

LENGTHS = (1, 17, 128, 193)
FORWARD = [(d, causal, c) for d in (64, 128) for causal in (False, True) for c in attention.configs(d, causal)]
LINEAR = [(d, c, parts) for d, configs in linear_attention.CONFIGS.items() for c in configs for parts in (1, 2)]
SOFTMAX = [softmax.Config(64, 1), softmax.Config(64, 1, 8), softmax.Config(64, 1, 0, 128), softmax.Config(64, 1, 8, 64)]


@pytest.mark.parametrize(("d", "causal", "config"), FORWARD, ids=str)
@pytest.mark.parametrize("n", LENGTHS)
def test_attention_forward(n: int, d: int, causal: bool, config: attention.Config) -> None:
    q, k, v = normal(1, 2, n, d, dtype=torch.float16 if n == 128 else torch.bfloat16)
    with caught(simulated):
        o, lse = attention.attention(q, k, v, causal, config=config)
    expected, expected_lse = exact.attention(q, k, v, causal)
    assert apart(o, expected) < 6e-3
    assert float((lse - expected_lse).abs().max()) < 1e-3


@pytest.mark.parametrize("config", attention_backward.CONFIGS, ids=str)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("n", "d"), [(17, 64), (128, 128), (193, 64)])
def test_attention_backward(n: int, d: int, causal: bool, config: attention_backward.Config) -> None:
    q, k, v, do = normal(1, 2, n, d, count=4)
    inputs = [t.double().requires_grad_() for t in (q, k, v)]
    o, lse = exact.attention(*inputs, causal)
    expected = torch.autograd.grad(o, inputs, do.double())
    with caught(simulated):
        found = attention_backward.attention_backward(
            q, k, v, o.detach().to(q.dtype), lse.detach().float(), do, causal, config=config
        )
    assert max(apart(a, b) for a, b in zip(found, expected, strict=True)) < 1e-2


@pytest.mark.parametrize(("d", "config", "parts"), LINEAR, ids=str)
@pytest.mark.parametrize("n", [1, 17, 193, 300])
def test_causal_linear_attention(n: int, d: int, config: linear_attention.Config, parts: int) -> None:
    q, k, v = normal(1, 2, n, d)
    with caught(simulated):
        o = linear_attention.linear_attention(q, k, v, config, parts)
    assert apart(o, exact.linear_attention(q, k, v)) < 6e-3


@pytest.mark.parametrize("config", SOFTMAX, ids=str)
@pytest.mark.parametrize("n", [1, 17, 64, 300])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_softmax(n: int, dtype: torch.dtype, config: softmax.Config) -> None:
    """A row of its own for each program; programs that wait for each other need a GPU that runs them at once."""
    x = 3 * torch.randn(3, n)
    x[0, -1] += 30  # a late maximum
    x = x.to(dtype)
    with caught(simulated):
        y = softmax.softmax(x, config)
    assert apart(y, x.double().softmax(-1)) < (1e-5 if dtype == torch.float32 else 4e-3)
