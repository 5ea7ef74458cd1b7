"""Functions of the language, element by element, and integers: they give what a GPU gives."""

import pytest
import torch
import triton
import triton.language as tl

from tests.simulator.launching import elementwise

SCALE = tl.constexpr(3.0)


@triton.jit
def functions(x_ptr, y_ptr, NAME: tl.constexpr):
    offs = tl.arange(0, 16)
    x = tl.load(x_ptr + offs)
    if NAME == "exp":
        y = tl.exp(x)
    elif NAME == "exp2":
        y = tl.exp2(x)
    elif NAME == "log":
        y = tl.log(x)
    elif NAME == "log2":
        y = tl.log2(x)
    elif NAME == "sqrt":
        y = tl.sqrt(x)
    elif NAME == "rsqrt":
        y = tl.rsqrt(x)
    elif NAME == "sigmoid":
        y = tl.sigmoid(x)
    elif NAME == "erf":
        y = tl.erf(x)
    elif NAME == "softmax":
        y = tl.softmax(x)
    elif NAME == "sort":
        y = tl.sort(x)
    elif NAME == "cumsum":
        y = tl.cumsum(x, axis=0)
    elif NAME == "reverse_cumsum":
        y = tl.cumsum(x, axis=0, reverse=True)
    elif NAME == "clamp":
        y = tl.clamp(x, 0.5, 1.5)
    elif NAME == "fma":
        y = tl.fma(x, x, x)
    elif NAME == "abs":
        y = tl.abs(-x)
    elif NAME == "method_chain":
        y = (x * 2).exp().log() / 2
    elif NAME == "member_max":
        y = x - x.max(0)
    elif NAME == "flip":
        y = tl.flip(x, 0)
    elif NAME == "reshape":
        y = tl.reshape(tl.trans(tl.reshape(x, (4, 4))), (16,))
    elif NAME == "constant":
        y = SCALE * x + x * SCALE
    tl.store(y_ptr + offs, y)


EXPECTED = {
    "exp": torch.exp, "exp2": torch.exp2, "log": torch.log, "log2": torch.log2, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
    "sigmoid": torch.sigmoid, "erf": torch.erf, "softmax": lambda x: x.softmax(0), "sort": lambda x: x.sort().values,
    "cumsum": lambda x: x.cumsum(0), "reverse_cumsum": lambda x: x.flip(0).cumsum(0).flip(0), "clamp": lambda x: x.clamp(0.5, 1.5),
    "fma": lambda x: x * x + x, "abs": torch.abs, "method_chain": lambda x: x, "member_max": lambda x: x - x.max(),
    "flip": lambda x: x.flip(0), "reshape": lambda x: x.reshape(4, 4).T.reshape(-1), "constant": lambda x: 6 * x,
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_functions(name):
    x = torch.rand(16) * 3 + 0.1
    torch.testing.assert_close(elementwise(functions, x, NAME=name), EXPECTED[name](x), rtol=1e-5, atol=1e-6)


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
