"""The language: every construct a kernel may use gives what a GPU gives, and what cannot be simulated is refused."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from checker.puzzle import Launch
from checker.simulator import SimulationError, simulate
from tests.simulator.launching import line_of, nans, run

SCALE = tl.constexpr(3.0)


def elementwise(kernel, x, *, out=None, **meta):
    """Run a kernel on one tile of 16 lanes and return what it stored."""
    y = torch.zeros(16, dtype=out or x.dtype)
    run(kernel, (1,), ("y_ptr",), meta, x_ptr=x, y_ptr=y)
    return y


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
def multiply(a, b):
    return a * b


@triton.jit
def first_two(a, b, c, d):
    return a + c, tl.maximum(b, d)


@triton.jit
def reductions(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(y_ptr, tl.max(x, 0))
    tl.store(y_ptr + 1, tl.min(x, 0))
    tl.store(y_ptr + 2, tl.argmax(x, 0).to(tl.float32))
    tl.store(y_ptr + 3, tl.argmin(x, 0).to(tl.float32))
    tl.store(y_ptr + 4, tl.reduce(x, 0, multiply))
    value, index = tl.max(x, 0, return_indices=True)
    tl.store(y_ptr + 5, value + index)
    s, m = tl.reduce((x, x), 0, first_two)
    tl.store(y_ptr + 6, s + m)
    tile = tl.reshape(x, (4, 4))
    tl.store(y_ptr + 7, tl.sum(tl.sum(tile, 1, keep_dims=True)))
    tl.store(y_ptr + 8 + tl.arange(0, 4), tl.max(tile, axis=1))
    tl.store(y_ptr + 12 + tl.arange(0, 4), tl.sum(tl.associative_scan(tile, 1, multiply), axis=0))


def test_reductions_and_scans():
    x = torch.rand(16) + 0.5
    got = elementwise(reductions, x)
    tile = x.reshape(4, 4)
    front = [x.max(), x.min(), x.argmax(), x.argmin(), x.prod(), x.max() + x.argmax(), x.sum() + x.max(), x.sum()]
    torch.testing.assert_close(
        got, torch.cat([torch.stack([f.float() for f in front]), tile.amax(1), tile.cumprod(1).sum(0)])
    )


@triton.jit
def nan_rules(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(y_ptr, tl.max(x, 0))
    tl.store(y_ptr + 1, tl.sum(x, 0))
    tl.store(y_ptr + 2, tl.max(tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL), 0))
    tl.store(y_ptr + 3, tl.sum(tl.maximum(x, 0.0), 0))


def test_nan_loses_against_a_number_in_max():
    x = torch.arange(16.0)
    x[3] = torch.nan
    got = elementwise(nan_rules, x)
    assert got[0] == 15
    assert got[1].isnan()
    assert got[3] == sum(range(16)) - 3


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


@triton.jit
def control_flow(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    total = 0
    for i in range(N):
        total += i.to(tl.int32)
    for i in tl.static_range(4):
        total += i
    for i in tl.range(0, N, 2, num_stages=2):
        total += i
    k = 0
    while k < N:
        k += BLOCK
    tl.static_assert(BLOCK == 4)
    tl.device_assert(k >= N, "k")
    tl.device_print("k", k)
    tl.debug_barrier()
    a, b = 1, 2
    if N > 3 and BLOCK == 4:
        total += a + b
    if not (N > 3):
        total = 0
    tl.store(y_ptr, total + max(N, 3) + min(k, 1))


def test_control_flow():
    y = torch.zeros(1, dtype=torch.int32)
    trace = run(control_flow, (1,), ("y_ptr",), {"BLOCK": 4}, x_ptr=torch.zeros(1), y_ptr=y, N=6)
    assert y.item() == 15 + 6 + 6 + 3 + 6 + 1
    assert len(trace.printed) == 1


@triton.jit
def float_argument(y_ptr, scale, big):
    tl.store(y_ptr, scale)
    tl.store(y_ptr + 1, (big // 4096).to(tl.float64))


def test_arguments_have_the_types_the_launcher_gives_them():
    y = torch.zeros(2, dtype=torch.float64)
    run(float_argument, (1,), ("y_ptr",), {}, y_ptr=y, scale=0.1, big=2**40)
    assert y[0].item() == float(np.float32(0.1))
    assert y[1].item() == 2**28


@triton.jit
def block_pointer(x_ptr, y_ptr):
    p = tl.make_block_ptr(x_ptr, (16,), (1,), (0,), (16,), (0,))
    tl.store(y_ptr + tl.arange(0, 16), tl.load(p))


@triton.jit
def descriptor(x_ptr, y_ptr):
    d = tl.make_tensor_descriptor(x_ptr, shape=[4, 16], strides=[16, 1], block_shape=[4, 16])
    tl.store(y_ptr + tl.arange(0, 4)[:, None] * 16 + tl.arange(0, 16)[None, :], d.load([0, 0]))


@triton.jit
def branch_on_a_tile(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    if x > 0:
        tl.store(y_ptr + tl.arange(0, 16), x)


@triton.jit
def shapes_that_do_not_fit(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(y_ptr + tl.arange(0, 16), x + tl.arange(0, 8))


@triton.jit
def undefined_name(x_ptr, y_ptr):
    tl.store(y_ptr, tl.load(x_ptr) * scale)  # noqa: F821


@triton.jit
def wrong_size(x_ptr, y_ptr):
    tl.store(y_ptr + tl.arange(0, 12), 0.0)


@triton.jit
def fails_an_assertion(x_ptr, y_ptr):
    tl.device_assert(tl.load(x_ptr) > 100, "x is small")


@triton.jit
def exp_of_half(x_ptr, y_ptr):
    tl.store(y_ptr, tl.exp(tl.load(x_ptr).to(tl.float16)))


@triton.jit
def inline_assembly(x_ptr, y_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(y_ptr + tl.arange(0, 16), tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], tl.float32, True, 1))


@pytest.mark.parametrize(
    ("kernel", "where", "words"),
    [
        (block_pointer, "make_block_ptr", "block"),
        (descriptor, "make_tensor_descriptor", "descriptor"),
        (branch_on_a_tile, "if x > 0", "tl.where"),
        (shapes_that_do_not_fit, "x + tl.arange", "16"),
        (undefined_name, "scale", "scale"),
        (wrong_size, "arange(0, 12)", "power of 2"),
        (fails_an_assertion, "device_assert", "x is small"),
        (exp_of_half, "tl.exp", "float32"),
        (inline_assembly, "inline_asm", "assembly"),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_errors_name_the_line_and_say_what_to_do(kernel, where, words):
    launch = Launch((1,), {"x_ptr": torch.zeros(64), "y_ptr": nans(64)}, {}, ("y_ptr",))
    with pytest.raises(SimulationError, match=words) as caught:
        simulate(kernel, launch)
    assert caught.value.line == line_of(kernel, where)
    assert caught.value.status == "runtime_error"
    assert caught.value.detail


def test_a_launch_that_does_not_fit_the_kernel():
    with pytest.raises(SimulationError, match="no parameter z_ptr"):
        simulate(undefined_name, Launch((1,), {"x_ptr": torch.zeros(1), "z_ptr": torch.zeros(1)}, {}, ()))
    with pytest.raises(SimulationError, match="y_ptr"):
        simulate(undefined_name, Launch((1,), {"x_ptr": torch.zeros(1)}, {}, ()))
    with pytest.raises(SimulationError, match="jit"):
        simulate(len, Launch((1,), {}, {}, ()))
