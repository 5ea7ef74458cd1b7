"""Inputs for the fast solutions, their exact results in float64, and the combinations to test."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

WIDTHS, BOTH = (64, 128), (False, True)
HALVES = (torch.bfloat16, torch.float16)


def every(**values: Iterable[object]) -> Callable[[Any], Any]:
    """Run a test once for each combination of these values."""

    def parametrized(test: Any) -> Any:
        for name, some in reversed(values.items()):
            test = pytest.mark.parametrize(name, list(some), ids=str)(test)
        return test

    return parametrized


def normal(*shape: int, count: int = 3, dtype: torch.dtype = torch.bfloat16, device: str = "cpu") -> list[torch.Tensor]:
    return [torch.randn(*shape, device=device).to(dtype) for _ in range(count)]


def apart(got: torch.Tensor, expected: torch.Tensor) -> float:
    """The norm of the error, relative to the norm of the expected tensor; inf if any number is not finite."""
    if not bool(got.isfinite().all()):
        return math.inf
    return float((got.double() - expected).norm() / expected.norm().clamp_min(1e-9))


def with_outliers(x: torch.Tensor) -> torch.Tensor:
    """x [..., D] with two channels that are 30 times as large, as the keys of trained models have them."""
    x = x.clone()
    x[..., [3, 40]] *= 30
    return x


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Output and log-sum-exp [B, H_Q, N_Q] of q [B, H_Q, N_Q, D] and k, v [B, H_KV, N_KV, D]; the last query sees all keys."""
    q, k, v = (t.double().repeat_interleave(q.shape[1] // t.shape[1], dim=1) for t in (q, k, v))
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        hidden = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(1 + k.shape[2] - q.shape[2])
        s = s.masked_fill(hidden, -math.inf)
    return s.softmax(-1) @ v, s.logsumexp(-1)


def assert_attention(
    got: tuple[torch.Tensor, torch.Tensor],
    expected: tuple[torch.Tensor, torch.Tensor],
    o_error: float = 6e-3,
    lse_error: float = 1e-3,
    words: object = "",
) -> None:
    assert apart(got[0], expected[0]) < o_error, words
    assert float((got[1] - expected[1]).abs().max()) < lse_error, words


def gradients(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, do: torch.Tensor, causal: bool
) -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, ...]]:
    """The output (in the dtype of q) and log-sum-exp (float32) that the forward pass saves; and dq, dk, dv."""
    learned = [t.double().requires_grad_() for t in (q, k, v)]
    o, lse = attention(*learned, causal)
    return (o.detach().to(q.dtype), lse.detach().float()), torch.autograd.grad(o, learned, do.double())


def linear_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Causal, with elu + 1 and eps = 1e-6."""
    q, k = (F.elu(t.double()) + 1 for t in (q, k))
    a = (q @ k.transpose(-1, -2)).tril()
    return (a @ v.double()) / (a.sum(-1, keepdim=True) + 1e-6)
