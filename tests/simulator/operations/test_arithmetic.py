"""Functions of the language, element by element, and integers: they give what a GPU gives."""

import pytest
import torch
import triton
import triton.language as tl

from tests.simulator.launching import elementwise, kernel_of

EXPECTED = {
    "tl.exp(x)": torch.exp,
    "tl.exp2(x)": torch.exp2,
    "tl.log(x)": torch.log,
    "tl.log2(x)": torch.log2,
    "tl.sqrt(x)": torch.sqrt,
    "tl.rsqrt(x)": torch.rsqrt,
    "tl.sigmoid(x)": torch.sigmoid,
    "tl.erf(x)": torch.erf,
    "tl.softmax(x)": lambda x: x.softmax(0),
    "tl.sort(x)": lambda x: x.sort().values,
    "tl.cumsum(x, axis=0)": lambda x: x.cumsum(0),
    "tl.cumsum(x, axis=0, reverse=True)": lambda x: x.flip(0).cumsum(0).flip(0),
    "tl.clamp(x, 0.5, 1.5)": lambda x: x.clamp(0.5, 1.5),
    "tl.fma(x, x, x)": lambda x: x * x + x,
    "tl.abs(-x)": torch.abs,
    "(x * 2).exp().log() / 2": lambda x: x,
    "x - x.max(0)": lambda x: x - x.max(),
    "tl.flip(x, 0)": lambda x: x.flip(0),
    "tl.reshape(tl.trans(tl.reshape(x, (4, 4))), (16,))": lambda x: x.reshape(4, 4).T.reshape(-1),
    "SCALE * x + x * SCALE": lambda x: 6 * x,
}


@pytest.mark.parametrize("expression", EXPECTED)
def test_functions(expression, tmp_path):
    x = torch.rand(16) * 3 + 0.1
    got = elementwise(kernel_of(tmp_path, f"tl.store(y_ptr + offs, {expression})"), x)
    torch.testing.assert_close(got, EXPECTED[expression](x), rtol=1e-5, atol=1e-6)


@triton.jit
def integers(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(y_ptr, tl.load(x_ptr) // 2)
    tl.store(y_ptr + 1, tl.load(x_ptr) % 2)
    tl.store(y_ptr + 2, tl.load(x_ptr + 1) + 1)
    tl.store(y_ptr + 3, tl.load(x_ptr) >> 1)
    tl.store(y_ptr + 4, tl.cdiv(tl.load(x_ptr + 2), 4))
    tl.store(y_ptr + 5, tl.num_programs(0))
    tl.store(y_ptr + 6, (tl.load(x_ptr + 3).to(tl.float32) / 2).to(tl.int32))
    tl.store(y_ptr + 7, tl.sum((x > 3).to(tl.int32)))
    tl.store(y_ptr + 8, tl.load(x_ptr + 1) * 2)


def test_integers_wrap_and_divide_as_in_c():
    x = torch.tensor([-7, 2**31 - 1, 9, -5] + [4] * 12, dtype=torch.int32)
    assert elementwise(integers, x)[:9].tolist() == [-3, -1, -(2**31), -4, 3, 1, -2, 14, -2]
