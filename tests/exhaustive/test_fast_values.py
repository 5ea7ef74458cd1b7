"""Every configuration of every fast kernel agrees with float64 in the simulator, on lengths that are no multiple of a tile."""

from __future__ import annotations

import pytest
import torch

from solutions.fast import (
    attention,
    attention_backward,
    attention_fp8,
    attention_split,
    delta_rule,
    linear_attention,
    softmax,
)
from tests.fast import exact
from tests.fast.exact import BOTH, GROUPED, WIDTHS, apart, assert_attention, every, normal, padded
from tests.fast.launches import caught, simulated

FORWARD = [(d, causal, c) for d in (64, 128) for causal in (False, True) for c in attention.configs(d, causal)]
LINEAR = [(d, c, parts) for d, configs in linear_attention.CONFIGS.items() for c in configs for parts in (1, 2)]
WALKS = [(delta, d, c) for (delta, d), configs in delta_rule.CONFIGS.items() for c in configs]
SOFTMAX = [softmax.Config(64, 1), softmax.Config(64, 1, 8), softmax.Config(64, 1, 0, 128), softmax.Config(64, 1, 8, 64)]


@pytest.mark.parametrize(("d", "causal", "config"), FORWARD, ids=str)
@pytest.mark.parametrize("n", [1, 17, 193])
def test_attention_forward(n: int, d: int, causal: bool, config: attention.Config) -> None:
    q, k, v = normal(1, 2, n, d, dtype=torch.float16 if n == 17 else torch.bfloat16)
    with caught(simulated):
        got = attention.attention(q, k, v, causal, config=config)
    assert_attention(got, exact.attention(q, k, v, causal))


@every(sizes=GROUPED, causal=BOTH, d=WIDTHS)
def test_attention_of_grouped_heads_and_padded_texts(d: int, causal: bool, sizes: tuple[int, int, int, int]) -> None:
    tensors, lengths = padded(*sizes, d)
    with caught(simulated):
        got = attention.attention(*tensors, causal, key_lengths=lengths)
    assert_attention(got, exact.attention(*tensors, causal, lengths))


@every(causal=BOTH, d=WIDTHS)
def test_attention_of_grouped_heads_in_every_configuration(d: int, causal: bool) -> None:
    (q,), (k, v) = normal(2, 4, 193, d, count=1), normal(2, 2, 193, d, count=2)
    for config in attention.configs(d, causal):
        with caught(simulated):
            got = attention.attention(q, k, v, causal, config=config)
        assert_attention(got, exact.attention(q, k, v, causal), words=config)


def test_the_tests_cover_the_configurations_that_the_launchers_choose() -> None:
    for (d, causal, _), config in attention.FASTEST.items():
        assert config in attention.configs(d, causal)
    assert {attention_backward.SMALL, *attention_backward.FASTEST.values()} <= {*attention_backward.CONFIGS}


@every(config=attention_fp8.CONFIGS, causal=BOTH, d=WIDTHS, n=[1, 17, 128, 193])
def test_attention_in_fp8(n: int, d: int, causal: bool, config: attention_fp8.Config) -> None:
    q, k, v = normal(1, 2, n, d, dtype=torch.float16 if n == 17 else torch.bfloat16)
    with caught(simulated):
        got = attention_fp8.attention_fp8(q, k, v, causal, config)
    assert_attention(got, exact.attention(q, k, v, causal), 0.08, 0.2)


@every(config=attention_fp8.CONFIGS, sizes=[(1, 50, 2), (50, 1, 0), (0, 0, 1)])
def test_every_tile_in_fp8_has_its_own_scale(sizes: tuple[int, ...], config: attention_fp8.Config) -> None:
    """Larger, smaller and all-zero tiles of keys and values, and heads a thousand times as large."""
    q, k, v = normal(2, 2, 384, 64)
    for i, size in enumerate(sizes):
        v[..., 128 * i : 128 * (i + 1), :] *= size
        k[..., 128 * i : 128 * (i + 1), :] *= size / 10
    v[1] *= 1000
    with caught(simulated):
        o, _ = attention_fp8.attention_fp8(q, k, v, False, config)
    expected, _ = exact.attention(q, k, v, False)
    for got, right in zip(o.flatten(0, 1), expected.flatten(0, 1), strict=True):
        assert apart(got, right) < 0.2


SHAPES = [
    (4, 1, 1, 1),
    (8, 2, 1, 17),
    (8, 2, 1, 300),
    (6, 2, 3, 193),
    (4, 2, 40, 193),
    (2, 2, 193, 193),
    (16, 1, 1, 1000),
]


@every(programs=[None, 1, 2, 5, 40], causal=BOTH, d=WIDTHS, shape=SHAPES)
def test_attention_split(shape: tuple[int, ...], d: int, causal: bool, programs: int | None) -> None:
    h_q, h_kv, n_q, n_kv = shape
    (q,), (k, v) = normal(2, h_q, n_q, d, count=1), normal(2, h_kv, n_kv, d, count=2)
    with caught(simulated, multiprocessors=7):
        got = attention_split.attention_split(q, k, v, causal, programs)
    assert_attention(got, exact.attention(q, k, v, causal))


@every(programs=[None, 1, 5, 40], page=[1, 16, 24, 256], d=WIDTHS)
@pytest.mark.parametrize(("h_q", "h_kv"), [(4, 4), (6, 2), (40, 1)])
def test_paged_decode(h_q: int, h_kv: int, d: int, page: int, programs: int | None) -> None:
    (q, k, v), lengths = padded(h_q, h_kv, 1, 300, d)
    caches = exact.in_pages(k, v, lengths, page)
    with caught(simulated, multiprocessors=7):
        o = attention_split.paged_decode(q[:, :, 0], *caches, lengths, programs)
    exact.assert_decoded(o, q, k, v, lengths)


@every(heads_first=BOTH)
def test_paged_decode_takes_caches_with_strides(heads_first: bool) -> None:
    """The caches of one layer in a tensor of all layers, and pages of whole tokens."""
    (q, k, v), lengths = padded(8, 2, 1, 70, 64)
    *caches, table = exact.in_pages(k, v, lengths, 16)
    strided = torch.stack(caches, dim=1) if heads_first else torch.stack([x.transpose(1, 2) for x in caches], dim=1)
    k_cache, v_cache = (x if heads_first else x.transpose(1, 2) for x in strided.unbind(1))
    with caught(simulated, multiprocessors=7):
        o = attention_split.paged_decode(q[:, :, 0], k_cache, v_cache, table, lengths)
    exact.assert_decoded(o, q, k, v, lengths)


@every(config=attention_backward.CONFIGS, causal=BOTH)
@pytest.mark.parametrize(("n", "d"), [(17, 64), (128, 128), (193, 64)])
def test_attention_backward(n: int, d: int, causal: bool, config: attention_backward.Config) -> None:
    q, k, v, do = normal(1, 2, n, d, count=4)
    saved, expected = exact.gradients(q, k, v, do, causal)
    with caught(simulated):
        got = attention_backward.attention_backward(q, k, v, *saved, do, causal, config=config)
    assert max(apart(a, b) for a, b in zip(got, expected, strict=True)) < 1e-2


@pytest.mark.parametrize(("d", "config", "parts"), LINEAR, ids=str)
@pytest.mark.parametrize("n", [1, 193, 300])
def test_causal_linear_attention(n: int, d: int, config: linear_attention.Config, parts: int) -> None:
    q, k, v = normal(1, 2, n, d)
    with caught(simulated):
        o = linear_attention.linear_attention(q, k, v, config, parts)
    assert apart(o, exact.linear_attention(q, k, v)) < 6e-3


@pytest.mark.parametrize(("delta", "d", "config"), WALKS, ids=str)
@every(n=[1, 193], alike=BOTH)
def test_the_delta_rule_and_decays(n: int, alike: bool, delta: bool, d: int, config: delta_rule.Config) -> None:
    tensors, g, beta, s0 = exact.sequence(n, d, alike)
    with caught(simulated):
        if delta:
            got = delta_rule.delta_rule(*tensors, g, beta, s0, config)
        else:
            got = delta_rule.decay_linear_attention(*tensors, g, s0, config)
    expected = exact.delta_rule(*tensors, g, beta if delta else None, s0)
    most = 4e-2 if delta and alike else 8e-3
    assert max(apart(a, b) for a, b in zip(got, expected, strict=True)) < most


@every(config=SOFTMAX, n=[1, 17, 64, 300], dtype=[torch.float32, torch.bfloat16])
def test_softmax(n: int, dtype: torch.dtype, config: softmax.Config) -> None:
    """One program per row; programs that wait for each other need a GPU, which runs them at once."""
    x = 3 * torch.randn(3, n)
    x[0, -1] += 30  # a late maximum
    x = x.to(dtype)
    with caught(simulated):
        y = softmax.softmax(x, config)
    assert apart(y, x.double().softmax(-1)) < (1e-5 if dtype == torch.float32 else 4e-3)
