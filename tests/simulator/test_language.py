"""The language: loops and conditions do what the compiler makes of them, and what cannot be simulated is refused."""

import pytest
import torch
import triton
import triton.language as tl

from checker.puzzle import Launch
from checker.simulator import SimulationError, simulate
from tests.simulator.launching import line_of, nans, run


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
