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


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, key_lengths: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Output and log-sum-exp [B, H_Q, N_Q] of q [B, H_Q, N_Q, D] and k, v [B, H_KV, N_KV, D], of which key_lengths [B] count.

    Under a causal mask the last query sees all keys that count. A query that sees none gives 0 and -inf.
    """
    if key_lengths is not None:
        one = [attention(q[b, None], k[b, None, :, :n], v[b, None, :, :n], causal) for b, n in enumerate(key_lengths)]
        return torch.cat([o for o, _ in one]), torch.cat([lse for _, lse in one])
    q, k, v = (t.double().repeat_interleave(q.shape[1] // t.shape[1], dim=1) for t in (q, k, v))
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        hidden = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(1 + k.shape[2] - q.shape[2])
        s = s.masked_fill(hidden, -math.inf)
    lse = s.logsumexp(-1)
    return (s - lse.clamp(min=-1e300)[..., None]).exp() @ v, lse


def assert_attention(
    got: tuple[torch.Tensor, torch.Tensor],
    expected: tuple[torch.Tensor, torch.Tensor],
    o_error: float = 6e-3,
    lse_error: float = 1e-3,
    words: object = "",
) -> None:
    assert apart(got[0], expected[0]) < o_error, words
    blind = expected[1] == -math.inf  # these see no key
    assert torch.equal(got[1] == -math.inf, blind), words
    assert not bool(got[0][blind].any()), words
    assert float((got[1] - expected[1])[~blind].abs().amax()) < lse_error, words


def assert_decoded(
    o: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor, words: object = ""
) -> None:
    """Compare o [B, H_Q, D] with attention of q [B, H_Q, 1, D] and the first lengths[b] keys of text b."""
    expected, _ = attention(q, k, v, False, lengths)
    assert apart(o[:, :, None], expected) < 6e-3, words
    assert not bool(o[lengths == 0].any()), words


GROUPED = (
    (1, 1, 17, 300),
    (6, 2, 193, 64),
    (8, 1, 1, 193),
    (4, 4, 130, 129),
)
"""H_Q, H_KV, N_Q and N_KV."""


def padded(
    h_q: int, h_kv: int, n_q: int, n_kv: int, d: int, device: str = "cpu"
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """q, k and v of four texts, and how many keys count: some, none, one, all. The others are NaN."""
    (q,), (k, v) = normal(4, h_q, n_q, d, count=1, device=device), normal(4, h_kv, n_kv, d, count=2, device=device)
    lengths = torch.tensor([2 * n_kv // 3, 0, 1, n_kv], dtype=torch.int32, device=device)
    for b, n in enumerate(lengths):
        k[b, :, n:], v[b, :, n:] = math.nan, math.nan
    return [q, k, v], lengths


def in_pages(
    k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor, page: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """k and v [B, H_KV, N_KV, D] as caches [N_PAGES, H_KV, page, D], and their block table [B, MAX_PAGES] int32.

    Pages lie in any order, three belong to nobody, slots past a text's end are NaN, and entries past its last page point nowhere.
    """
    most = -(-k.shape[2] // page)
    order = torch.randperm(k.shape[0] * most + 3).tolist()
    caches = [torch.full((len(order), k.shape[1], page, k.shape[3]), math.nan).to(k) for _ in range(2)]
    table = torch.full((k.shape[0], most), 2**31 - 1, dtype=torch.int32)
    for b, n in enumerate(lengths.tolist()):
        for i, start in enumerate(range(0, n, page)):
            table[b, i] = number = order.pop()
            for cache, x in zip(caches, (k, v), strict=True):
                cache[number, :, : n - start] = x[b, :, start : min(start + page, n)]
    return caches[0], caches[1], table.to(k.device)


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


def sequence(
    n: int, d: int, alike: bool = False, device: str = "cpu"
) -> tuple[list[torch.Tensor], torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, k and v of three heads, with q and k of norm 1; g with one decay to nothing; beta up to 1; and a first state.

    Keys that are `alike` differ by a twentieth, and every beta is 1: as a text that repeats itself.
    """
    shape, noise = (1, 3, n, d), 0.05 if alike else 1.0
    base = torch.randn(1, 3, 1, d, device=device) * alike
    q, k = (F.normalize(base + noise * torch.randn(*shape, device=device), dim=-1).bfloat16() for _ in range(2))
    g, beta = -0.1 * torch.rand(1, 3, n, device=device), torch.rand(1, 3, n, device=device)
    if alike:
        return (
            [q, k, torch.randn(*shape, device=device).bfloat16()],
            0 * g,
            0 * beta + 1,
            q.new_zeros(1, 3, d, d).float(),
        )
    g[:, 0, n // 2] = -math.inf
    return [q, k, torch.randn(*shape, device=device).bfloat16()], g, beta, torch.randn(1, 3, d, d, device=device)


def delta_rule(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, beta: torch.Tensor | None, s0: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Output and state after the last token, one token at a time. Without beta nothing is compared: linear attention with decays."""
    q, k, v, g, s = (t.double() for t in (q, k, v, g, s0))
    o = torch.empty_like(v)
    for i in range(q.shape[2]):
        s = s * g[:, :, i, None, None].exp()
        key, u = k[:, :, i, :, None], v[:, :, i, None, :]
        if beta is not None:
            u = beta[:, :, i, None, None] * (u - key.mT @ s)
        s = s + key @ u
        o[:, :, i] = (q[:, :, i, None, :] @ s)[:, :, 0]
    return o, s
