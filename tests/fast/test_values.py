"""The fast solutions give what float64 gives: every configuration of every kernel, in the simulator, on lengths that fit no tile."""

from __future__ import annotations

import math

import pytest
import torch

from solutions.fast import attention, attention_backward, linear_attention, softmax
from tests.fast.launches import caught, simulated

LENGTHS = (1, 17, 128, 193)
FORWARD = [(d, causal, c) for d in (64, 128) for causal in (False, True) for c in attention.configs(d, causal)]
LINEAR = [(d, c, parts) for d, configs in linear_attention.CONFIGS.items() for c in configs for parts in (1, 2)]
SOFTMAX = [softmax.Config(64, 1), softmax.Config(64, 1, 8), softmax.Config(64, 1, 0, 128), softmax.Config(64, 1, 8, 64)]


def normal(*shape: int, count: int = 3, dtype: torch.dtype = torch.bfloat16) -> list[torch.Tensor]:
    return [torch.randn(*shape, dtype=torch.float32).to(dtype) for _ in range(count)]


def apart(got: torch.Tensor, expected: torch.Tensor) -> float:
    """The error's norm over that of what is expected."""
    return float((got.double() - expected).norm() / expected.norm().clamp_min(1e-9))


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention of float64 tensors [B, H, N, D]: output, and log-sum-exp [B, H, N]."""
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(1), -math.inf)
    return s.softmax(-1) @ v, s.logsumexp(-1)


@pytest.mark.parametrize(("d", "causal", "config"), FORWARD, ids=str)
@pytest.mark.parametrize("n", LENGTHS)
def test_attention_forward(n: int, d: int, causal: bool, config: attention.Config) -> None:
    q, k, v = normal(1, 2, n, d, dtype=torch.float16 if n == 128 else torch.bfloat16)
    with caught(simulated):
        o, lse = attention.attention(q, k, v, causal, config=config)
    expected, expected_lse = reference(q.double(), k.double(), v.double(), causal)
    assert apart(o, expected) < 6e-3
    assert float((lse - expected_lse).abs().max()) < 1e-3


@pytest.mark.parametrize("config", attention_backward.CONFIGS, ids=str)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("n", "d"), [(17, 64), (128, 128), (193, 64)])
def test_attention_backward(n: int, d: int, causal: bool, config: attention_backward.Config) -> None:
    q, k, v, do = normal(1, 2, n, d, count=4)
    exact = [t.double().requires_grad_() for t in (q, k, v)]
    o, lse = reference(*exact, causal)
    expected = torch.autograd.grad(o, exact, do.double())
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
    features = [torch.nn.functional.elu(t.double()) + 1 for t in (q, k)]
    a = (features[0] @ features[1].transpose(-1, -2)).tril()
    assert apart(o, a @ v.double() / (a.sum(-1, keepdim=True) + 1e-6)) < 6e-3


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
