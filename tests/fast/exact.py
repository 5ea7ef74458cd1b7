"""Inputs, and what the fast solutions have to give, in float64."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F


def normal(*shape: int, count: int = 3, dtype: torch.dtype = torch.bfloat16, device: str = "cpu") -> list[torch.Tensor]:
    return [torch.randn(*shape, device=device).to(dtype) for _ in range(count)]


def apart(got: torch.Tensor, expected: torch.Tensor) -> float:
    """The error's norm over that of what is expected; inf where a number is not finite."""
    if not bool(got.isfinite().all()):
        return math.inf
    return float((got.double() - expected).norm() / expected.norm().clamp_min(1e-9))


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Output and log-sum-exp [B, H, N] of q, k, v [B, H, N, D]."""
    q, k, v = (t.double() for t in (q, k, v))
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(1), -math.inf)
    return s.softmax(-1) @ v, s.logsumexp(-1)


def linear_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Causal, with elu + 1 and eps = 1e-6."""
    q, k = (F.elu(t.double()) + 1 for t in (q, k))
    a = (q @ k.transpose(-1, -2)).tril()
    return (a @ v.double()) / (a.sum(-1, keepdim=True) + 1e-6)
