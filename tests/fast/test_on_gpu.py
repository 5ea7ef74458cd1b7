"""Every configuration of the fast solutions on a GPU, against float64, twice. Only a GPU shows faults of the compiler.

In Triton 3.6, a specialised loop with three stages gives NaN, and a mask that shares a number with a descriptor's row is off
by 64 in one of two warp groups. Both compile without a warning, and the simulator runs the kernel as written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

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
from tests.fast.exact import (
    BOTH,
    GROUPED,
    HALVES,
    WIDTHS,
    apart,
    assert_attention,
    every,
    normal,
    padded,
    with_outliers,
)

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")]
hopper = pytest.mark.skipif(
    torch.cuda.is_available() and torch.cuda.get_device_capability() != (9, 0), reason="needs a Hopper GPU"
)

LENGTHS = (1, 17, 1000, 4096, 4097)
Outputs = tuple[torch.Tensor, ...]


def gluon(name: str) -> Any:
    return pytest.importorskip(f"solutions.fast.{name}", reason="this Triton has no Gluon")


def twice(run: Callable[[], Outputs]) -> Any:
    """The outputs of `run`, if a second launch gives the same bits."""
    first, second = run(), run()
    torch.cuda.synchronize()
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    return first


def inputs(n: int, d: int, count: int = 3, dtype: torch.dtype = torch.bfloat16) -> list[torch.Tensor]:
    return normal(1, 3, n, d, count=count, dtype=dtype, device="cuda")


Kernels = Iterable[tuple[object, Callable[..., Outputs]]]


def in_triton(d: int, causal: bool) -> Kernels:
    for config in attention.configs(d, causal):
        yield config, lambda *tensors, c=config: attention.attention(*tensors, config=c)


def in_gluon(d: int, causal: bool) -> Kernels:
    yield "Gluon", gluon("attention_gluon").attention_gluon


def in_fp8(d: int, causal: bool) -> Kernels:
    for config in attention_fp8.CONFIGS:
        yield config, lambda *tensors, c=config: attention_fp8.attention_fp8(*tensors, c)


@pytest.mark.parametrize(
    ("kernels", "errors"),
    [
        (in_triton, (6e-3, 1e-3)),
        pytest.param(in_gluon, (6e-3, 1e-3), marks=hopper),
        pytest.param(in_fp8, (0.08, 0.3), marks=hopper),
    ],
)
@every(dtype=HALVES, causal=BOTH, d=WIDTHS, n=LENGTHS)
def test_attention_forward(
    n: int, d: int, causal: bool, dtype: torch.dtype, kernels: Callable[..., Kernels], errors: tuple[float, float]
) -> None:
    q, k, v = inputs(n, d, dtype=dtype)
    expected = exact.attention(q, k, v, causal)
    for config, kernel in kernels(d, causal):
        assert_attention(twice(lambda run=kernel: run(q, k, v, causal)), expected, *errors, config)


@every(sizes=(*GROUPED, (8, 2, 1000, 4097)), causal=BOTH, d=WIDTHS)
def test_attention_of_grouped_heads_and_padded_texts(d: int, causal: bool, sizes: tuple[int, int, int, int]) -> None:
    tensors, lengths = padded(*sizes, d, device="cuda")
    got = twice(lambda: attention.attention(*tensors, causal, key_lengths=lengths))
    assert_attention(got, exact.attention(*tensors, causal, lengths))


@every(causal=BOTH, d=WIDTHS, n=LENGTHS)
def test_attention_of_grouped_heads_in_every_configuration(n: int, d: int, causal: bool) -> None:
    (q,), (k, v) = (normal(2, h, n, d, count=count, device="cuda") for h, count in ((8, 1), (2, 2)))
    expected = exact.attention(q, k, v, causal)
    for config in attention.configs(d, causal):
        got = twice(lambda c=config: attention.attention(q, k, v, causal, config=c))
        assert_attention(got, expected, words=config)


@hopper
@every(config=attention_fp8.CONFIGS)
def test_the_error_of_fp8(config: attention_fp8.Config) -> None:
    q, k, v = inputs(4096, 128)
    cases = [((q, k, v), 0.06), ((q, with_outliers(k), v), 0.16), ((q, k, with_outliers(v)), 0.06)]
    # A sum that only grows: the error is 0.19 at N = 16384 if the tensor cores accumulate it.
    cases.append(((q, k, v + 1), 0.01))
    for tensors, most in cases:
        (o, _), (got, _) = exact.attention(*tensors, False), attention_fp8.attention_fp8(*tensors, config=config)
        assert apart(got, o) < most


@every(dtype=HALVES, causal=BOTH, d=WIDTHS, n=[*LENGTHS, 65536])
@pytest.mark.parametrize(("h_q", "h_kv", "n_q"), [(8, 2, 1), (16, 2, 1), (3, 3, 1), (6, 2, 17), (2, 1, 100)])
def test_attention_split(h_q: int, h_kv: int, n_q: int, n: int, d: int, causal: bool, dtype: torch.dtype) -> None:
    if causal and n_q > n:
        pytest.skip("the launcher refuses queries that see no key")
    (q,) = normal(2, h_q, n_q, d, count=1, dtype=dtype, device="cuda")
    k, v = normal(2, h_kv, n, d, count=2, dtype=dtype, device="cuda")
    expected = exact.attention(q, k, v, causal)
    for programs in (None, 1, 5):
        got = twice(lambda p=programs: attention_split.attention_split(q, k, v, causal, p))
        assert_attention(got, expected, words=programs)


@every(page=[1, 16, 24, 256], d=WIDTHS, n=LENGTHS)
@pytest.mark.parametrize(("h_q", "h_kv"), [(8, 2), (5, 5), (40, 1)])
def test_paged_decode(h_q: int, h_kv: int, n: int, d: int, page: int) -> None:
    (q, k, v), lengths = padded(h_q, h_kv, 1, n, d, device="cuda")
    caches = exact.in_pages(k, v, lengths, page)
    for programs in (None, 1, 5):
        (o,) = twice(lambda p=programs: (attention_split.paged_decode(q[:, :, 0], *caches, lengths, p),))
        exact.assert_decoded(o, q, k, v, lengths, programs)


def test_decoding_in_a_cuda_graph_takes_the_lengths_of_each_replay() -> None:
    (q,), (k, v) = (normal(4, h, n, 128, count=c, device="cuda") for h, n, c in ((8, 1, 1), (2, 1000, 2)))
    lengths = torch.full((4,), 1000, dtype=torch.int32, device="cuda")
    run = partial(attention_split.paged_decode, q[:, :, 0], *exact.in_pages(k, v, lengths, 16), lengths)
    run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = run()
    for some in ([1000, 1, 0, 17], [3, 999, 512, 1000]):
        lengths.copy_(torch.tensor(some))
        for _ in range(2):
            o.zero_()
            graph.replay()
            exact.assert_decoded(o, q, k, v, lengths, some)


def test_two_streams_decode_at_a_time() -> None:
    """Each counts the arrivals of its own programs."""
    (q, k, v), lengths = padded(8, 2, 1, 4096, 128, device="cuda")
    run = partial(attention_split.paged_decode, q[:, :, 0], *exact.in_pages(k, v, lengths, 16), lengths)
    streams, outputs = [torch.cuda.Stream(), torch.cuda.Stream()], []
    torch.cuda.synchronize()
    for i in range(40):
        with torch.cuda.stream(streams[i % 2]):
            outputs.append(run())
    torch.cuda.synchronize()
    for o in outputs:
        exact.assert_decoded(o, q, k, v, lengths)


def assert_gradients(gradients: Outputs, expected: Outputs, n: int, config: object = "") -> None:
    for name, got, right in zip(("dq", "dk", "dv"), gradients, expected, strict=True):
        if n == 1 and name != "dv":  # the only weight is always 1, so its gradient is 0
            assert float(got.abs().max()) < 0.05, (name, config)
        else:
            assert apart(got, right) < 1e-2, (name, config)


@every(causal=BOTH, d=WIDTHS, n=LENGTHS)
def test_attention_backward(n: int, d: int, causal: bool) -> None:
    q, k, v, do = inputs(n, d, count=4)
    saved, expected = exact.gradients(q, k, v, do, causal)
    for config in attention_backward.CONFIGS:
        got = twice(lambda c=config: attention_backward.attention_backward(q, k, v, *saved, do, causal, config=c))
        assert_gradients(got, expected, n, config)


@hopper
@every(dtype=HALVES, causal=BOTH, d=WIDTHS, n=LENGTHS)
def test_attention_backward_in_gluon(n: int, d: int, causal: bool, dtype: torch.dtype) -> None:
    """Atomic additions make up dQ, in a different order each time; dK and dV have the same bits."""
    backward = gluon("attention_backward_gluon").attention_backward_gluon
    q, k, v, do = inputs(n, d, count=4, dtype=dtype)
    saved, expected = exact.gradients(q, k, v, do, causal)
    first, second = (backward(q, k, v, *saved, do, causal) for _ in range(2))
    for name, a, b in zip(("dk", "dv"), first[1:], second[1:], strict=True):
        rows = (a != b).any(-1).nonzero()  # [count, 3]: batch, head, row; NaN differs from itself
        assert not len(rows), (
            f"{name} differs in {len(rows)} rows, first in {rows[0].tolist()}; NaN: {bool(a.isnan().any())}"
        )
    assert_gradients(first, expected, n)


@every(d=WIDTHS, n=LENGTHS)
def test_causal_linear_attention(n: int, d: int) -> None:
    q, k, v = inputs(n, d)
    expected = exact.linear_attention(q, k, v)
    for config in linear_attention.CONFIGS[d]:
        for segments in (s for s in (1, 2, 8) if 128 * (s - 1) < n):
            (o,) = twice(lambda c=config, s=segments: (linear_attention.linear_attention(q, k, v, c, s),))
            assert apart(o, expected) < 6e-3, (config, segments)


@every(alike=BOTH, d=WIDTHS, n=LENGTHS)
def test_the_delta_rule_and_decays(n: int, d: int, alike: bool) -> None:
    """Where keys are alike, a chunk's writes nearly cancel, and bf16 keeps fewer digits of the rest."""
    tensors, g, beta, s0 = exact.sequence(n, d, alike, device="cuda")
    expected = {True: exact.delta_rule(*tensors, g, beta, s0), False: exact.delta_rule(*tensors, g, None, s0)}
    for config in delta_rule.CONFIGS[True, d]:
        o, s = twice(lambda c=config: delta_rule.delta_rule(*tensors, g, beta, s0, c))
        assert max(apart(o, expected[True][0]), apart(s, expected[True][1])) < (4e-2 if alike else 8e-3), config
    for config in delta_rule.CONFIGS[False, d]:
        o, s = twice(lambda c=config: delta_rule.decay_linear_attention(*tensors, g, s0, c))
        assert max(apart(o, expected[False][0]), apart(s, expected[False][1])) < 6e-3, config


LONG_ROWS = (33000, 65536, 65537, 262144, 262143, 2**21, 2**21 + 1, 2**23)


@every(dtype=[torch.float32, torch.bfloat16], n=[*LENGTHS, *LONG_ROWS])
def test_softmax(n: int, dtype: torch.dtype) -> None:
    x = 3 * torch.randn(7, n, device="cuda")
    x[0, -1] += 30  # a late maximum
    x = x.to(dtype)
    (y,) = twice(lambda: (softmax.softmax(x),))
    for got, row in ((y, x), (y[-1], x[-1])):
        assert apart(got, row.double().softmax(-1)) < (1e-5 if dtype == torch.float32 else 4e-3)
