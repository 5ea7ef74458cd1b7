"""Every configuration of the fast solutions on a GPU, against float64, and twice: faults of the compiler's show here and nowhere else.

In Triton 3.6 a specialised loop with three stages gives NaN, and a mask that shares a number with a descriptor's row is off by 64
in one of two warp groups; both compile without a word, and the simulator, which runs what was written, knows of neither.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from solutions.fast import attention, attention_backward, attention_fp8, attention_split, linear_attention, softmax
from tests.fast import exact
from tests.fast.exact import apart, normal, with_outliers
from tests.fast.sizes import BOTH, HALVES, WIDTHS, every

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")]
hopper = pytest.mark.skipif(
    torch.cuda.is_available() and torch.cuda.get_device_capability() != (9, 0), reason="needs a Hopper GPU"
)

LENGTHS = (1, 17, 1000, 4096, 4097)
Outputs = tuple[torch.Tensor, ...]


def twice(run: Callable[[], Outputs]) -> Outputs:
    """What `run` gives, if a second launch gives the same bit by bit."""
    first, second = run(), run()
    torch.cuda.synchronize()
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    return first


def inputs(n: int, d: int, count: int = 3, dtype: torch.dtype = torch.bfloat16) -> list[torch.Tensor]:
    return normal(1, 3, n, d, count=count, dtype=dtype, device="cuda")


@every(dtype=HALVES, causal=BOTH, d=WIDTHS, n=LENGTHS)
def test_attention_forward(n: int, d: int, causal: bool, dtype: torch.dtype) -> None:
    q, k, v = inputs(n, d, dtype=dtype)
    o, lse = exact.attention(q, k, v, causal)
    for config in attention.configs(d, causal):
        got, got_lse = twice(lambda c=config: attention.attention(q, k, v, causal, config=c))
        assert apart(got, o) < 6e-3, config
        assert float((got_lse - lse).abs().max()) < 1e-3, config


@hopper
@every(dtype=HALVES, causal=BOTH, d=WIDTHS, n=LENGTHS)
def test_attention_forward_in_gluon(n: int, d: int, causal: bool, dtype: torch.dtype) -> None:
    attention_gluon = pytest.importorskip("solutions.fast.attention_gluon", reason="this Triton has no Gluon")
    q, k, v = inputs(n, d, dtype=dtype)
    o, lse = exact.attention(q, k, v, causal)
    got, got_lse = twice(lambda: attention_gluon.attention_gluon(q, k, v, causal))
    assert apart(got, o) < 6e-3
    assert float((got_lse - lse).abs().max()) < 1e-3


@hopper
@every(dtype=HALVES, causal=BOTH, d=WIDTHS, n=LENGTHS)
def test_attention_in_fp8(n: int, d: int, causal: bool, dtype: torch.dtype) -> None:
    q, k, v = inputs(n, d, dtype=dtype)
    o, lse = exact.attention(q, k, v, causal)
    for config in attention_fp8.CONFIGS:
        got, got_lse = twice(lambda c=config: attention_fp8.attention_fp8(q, k, v, causal, c))
        assert apart(got, o) < 0.08, config
        assert float((got_lse - lse).abs().max()) < 0.3, config


@hopper
@pytest.mark.parametrize("config", attention_fp8.CONFIGS, ids=str)
def test_the_error_of_fp8(config: attention_fp8.Config) -> None:
    q, k, v = inputs(4096, 128)
    cases = [((q, k, v), 0.06), ((q, with_outliers(k), v), 0.16), ((q, k, with_outliers(v)), 0.06)]
    # a sum that only grows: 0.19 at N = 16384 if the tensor cores add it up
    cases.append(((q, k, v + 1), 0.01))
    for tensors, most in cases:
        (o, _), (got, _) = exact.attention(*tensors, False), attention_fp8.attention_fp8(*tensors, config=config)
        assert apart(got, o) < most


@every(dtype=HALVES, causal=BOTH, d=WIDTHS, n=[*LENGTHS, 65536])
@pytest.mark.parametrize(("h_q", "h_kv", "n_q"), [(8, 2, 1), (16, 2, 1), (3, 3, 1), (6, 2, 17), (2, 1, 100)])
def test_attention_split(h_q: int, h_kv: int, n_q: int, n: int, d: int, causal: bool, dtype: torch.dtype) -> None:
    if causal and n_q > n:
        pytest.skip("a query that sees nothing is refused")
    (q,) = normal(2, h_q, n_q, d, count=1, dtype=dtype, device="cuda")
    k, v = normal(2, h_kv, n, d, count=2, dtype=dtype, device="cuda")
    o, lse = exact.attention(q, k, v, causal)
    for splits in (None, 1, 5):
        got, got_lse = twice(lambda s=splits: attention_split.attention_split(q, k, v, causal, s))
        assert apart(got, o) < 6e-3, splits
        assert float((got_lse - lse).abs().max()) < 1e-3, splits


def assert_gradients(found: Outputs, expected: Outputs, n: int, config: str = "") -> None:
    for name, got, right in zip(("dq", "dk", "dv"), found, expected, strict=True):
        if n == 1 and name != "dv":  # a weight that is always 1 has no gradient
            assert float(got.abs().max()) < 0.05, (name, config)
        else:
            assert apart(got, right) < 1e-2, (name, config)


@every(causal=BOTH, d=WIDTHS, n=LENGTHS)
def test_attention_backward(n: int, d: int, causal: bool) -> None:
    q, k, v, do = inputs(n, d, count=4)
    saved, expected = exact.gradients(q, k, v, do, causal)
    for config in attention_backward.CONFIGS:
        found = twice(lambda c=config: attention_backward.attention_backward(q, k, v, *saved, do, causal, config=c))
        assert_gradients(found, expected, n, str(config))


@hopper
@every(dtype=HALVES, causal=BOTH, d=WIDTHS, n=LENGTHS)
def test_attention_backward_in_gluon(n: int, d: int, causal: bool, dtype: torch.dtype) -> None:
    """dQ is a sum in memory, whose order is another in each run; dK and dV are the same bit by bit."""
    attention_backward_gluon = pytest.importorskip(
        "solutions.fast.attention_backward_gluon", reason="this Triton has no Gluon"
    )
    q, k, v, do = inputs(n, d, count=4, dtype=dtype)
    saved, expected = exact.gradients(q, k, v, do, causal)

    def run() -> Outputs:
        return attention_backward_gluon.attention_backward_gluon(q, k, v, *saved, do, causal)

    found, (_, *again) = run(), run()
    assert all(torch.equal(a, b) for a, b in zip(found[1:], again, strict=True))
    assert_gradients(found, expected, n)


@every(d=WIDTHS, n=LENGTHS)
def test_causal_linear_attention(n: int, d: int) -> None:
    q, k, v = inputs(n, d)
    expected = exact.linear_attention(q, k, v)
    for config in linear_attention.CONFIGS[d]:
        for segments in (1, 2, 8):
            if 128 * (segments - 1) < n:
                (o,) = twice(lambda c=config, s=segments: (linear_attention.linear_attention(q, k, v, c, s),))
                assert apart(o, expected) < 6e-3, (config, segments)


@every(
    dtype=[torch.float32, torch.bfloat16], n=[*LENGTHS, 33000, 65536, 65537, 262144, 262143, 2**21, 2**21 + 1, 2**23]
)
def test_softmax(n: int, dtype: torch.dtype) -> None:
    x = 3 * torch.randn(7, n, device="cuda")
    x[0, -1] += 30  # a late maximum
    x = x.to(dtype)
    (y,) = twice(lambda: (softmax.softmax(x),))
    assert apart(y, x.double().softmax(-1)) < (1e-5 if dtype == torch.float32 else 4e-3)
    assert apart(y[-1], x[-1].double().softmax(-1)) < (1e-5 if dtype == torch.float32 else 4e-3)
