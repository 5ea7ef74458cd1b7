"""Arithmetic as the hardware does it: 16-bit types round after each operation, an fp32 dot looks at 10 bits of mantissa."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from checker.simulator import numerics
from tests.simulator.launching import nans, run


@triton.jit
def polynomial(x_ptr, y_ptr):
    offs = tl.arange(0, 1024)
    x = tl.load(x_ptr + offs)
    tl.store(y_ptr + offs, x * x + x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_each_operation_rounds(dtype):
    x = torch.randn(1024).to(dtype)
    y = nans(1024, dtype=dtype)
    run(polynomial, (1,), ("y_ptr",), {}, x_ptr=x, y_ptr=y)
    assert torch.equal(y, x * x + x)  # torch also rounds the product before the sum


@triton.jit
def to_bf16(x_ptr, y_ptr):
    offs = tl.arange(0, 1024)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs).to(tl.bfloat16))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_casts_round_to_nearest_even(dtype):
    x = torch.randn(1024, dtype=dtype)
    x[:4] = torch.tensor([1 + 2**-8, 1 + 3 * 2**-8, torch.inf, -0.0], dtype=dtype)
    expected = x.to(torch.bfloat16)
    if dtype == torch.float64:  # beside a tie by less than float32 can see, which torch's way over it rounds to even
        x[4:7] = torch.tensor([1 + 2**-8 + 2**-40, -(1 + 2**-8 + 2**-40), 1 + 3 * 2**-8 - 2**-40], dtype=dtype)
        expected[4:7] = torch.tensor([1 + 2**-7, -(1 + 2**-7), 1 + 2**-7])
    y = nans(1024, dtype=torch.bfloat16)
    run(to_bf16, (1,), ("y_ptr",), {}, x_ptr=x, y_ptr=y)
    assert torch.equal(y, expected)


@triton.jit
def sum_up(x_ptr, y_ptr):
    tl.store(y_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, 4096)), axis=0))


def test_a_sum_in_half_precision_overflows_and_loses_bits():
    y = nans(1, dtype=torch.float16)
    run(sum_up, (1,), ("y_ptr",), {}, x_ptr=torch.full((4096,), 17.0, dtype=torch.float16), y_ptr=y)
    assert y.item() == torch.inf
    z = nans(1, dtype=torch.bfloat16)
    x = torch.rand(4096).to(torch.bfloat16)
    run(sum_up, (1,), ("y_ptr",), {}, x_ptr=x, y_ptr=z)
    assert z.item() != x.double().sum().to(torch.bfloat16).item() or z.item() != x.float().sum().item()
    assert abs(z.item() / x.double().sum().item() - 1) < 0.02


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, PRECISION: tl.constexpr, B: tl.constexpr):
    offs = tl.arange(0, B)
    tile = offs[:, None] * B + offs[None, :]
    c = tl.dot(tl.load(a_ptr + tile), tl.load(b_ptr + tile), input_precision=PRECISION)
    tl.store(c_ptr + tile, c)


def dot(a, b, precision=None):
    c = nans(32, 32)
    run(matmul, (1,), ("c_ptr",), {"PRECISION": precision, "B": 32}, a_ptr=a, b_ptr=b, c_ptr=c)
    return c


def test_an_fp32_dot_looks_at_ten_bits_unless_told_otherwise():
    a, b = torch.randn(32, 32), torch.randn(32, 32)
    exact = a.double() @ b.double()
    cut = [torch.from_numpy(numerics.to_tf32(t.numpy())).double() for t in (a, b)]
    torch.testing.assert_close(dot(a, b).double(), cut[0] @ cut[1], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(dot(a, b, "ieee").double(), exact, rtol=1e-5, atol=1e-5)
    assert 1e-4 < (dot(a, b).double() - exact).abs().max() < 5e-2


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_sixteen_bit_dot_sums_in_fp32(dtype):
    a, b = torch.randn(32, 32).to(dtype), torch.randn(32, 32).to(dtype)
    torch.testing.assert_close(dot(a, b).double(), a.double() @ b.double(), rtol=1e-5, atol=1e-5)


def test_an_integer_dot():
    a, b = (torch.randint(-128, 127, (32, 32), dtype=torch.int8) for _ in range(2))
    c = torch.zeros(32, 32, dtype=torch.int32)
    run(matmul, (1,), ("c_ptr",), {"PRECISION": None, "B": 32}, a_ptr=a, b_ptr=b, c_ptr=c)
    assert torch.equal(c, a.int() @ b.int())


def test_integer_helpers():
    a = np.array([-7, 7, -7, 5, -8], np.int32)
    b = np.array([2, -2, -2, 0, 3], np.int32)
    assert numerics.divide(a, b).tolist() == [-3, -3, 3, -1, -2]
    assert numerics.remainder(a, b).tolist() == [-1, 1, -1, 5, -2]
    wide = np.array([2**63 + 12345, 2**64 - 1], np.uint64)
    assert numerics.multiply_high(wide, wide).tolist() == [int(w) ** 2 >> 64 for w in wide]
    floats = np.array([1e20, -1e20, np.nan, -2.7, 2.7, np.inf], np.float32)
    assert numerics.cast(floats, np.dtype(np.int32)).tolist() == [2**31 - 1, -(2**31), 0, -2, 2, 2**31 - 1]


def test_a_fused_multiply_add_rounds_once():
    a = np.float32(1 + 2**-12)
    assert numerics.fused_multiply_add(a, a, np.float32(-1)) == np.float32((1 + 2**-12) ** 2 - 1)
