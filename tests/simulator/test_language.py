"""The language: loops and conditions do what the compiler makes of them, and what cannot be simulated is refused."""

import pytest
import torch
import triton
import triton.language as tl

from checker.puzzle import Launch
from checker.simulator import SimulationError, simulate
from checker.simulator.builder import Primitives
from checker.simulator.errors import Unsupported
from tests.simulator.launching import kernel_of, line_of, nans, run


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


@triton.jit
def lowest(dtype):
    if dtype.value.is_floating():
        low: tl.constexpr = float("-inf")
        return low
    return 0


@triton.jit
def largest(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(y_ptr, tl.max(tl.load(x_ptr + offs, mask=offs < N, other=lowest(x_ptr.type.element_ty)), axis=0))


def test_a_helper_may_ask_for_the_value_of_a_type():
    """Where Triton compiles, the type is a constexpr; FlagGems asks so."""
    y = torch.zeros(1)
    run(largest, (1,), ("y_ptr",), {"BLOCK": 4}, x_ptr=torch.tensor([-3.0, -2.0, -5.0]), y_ptr=y, N=3)
    assert y.item() == -2
    assert not hasattr(tl.float32, "value")


def test_control_flow():
    y = torch.zeros(1, dtype=torch.int32)
    trace = run(control_flow, (1,), ("y_ptr",), {"BLOCK": 4}, x_ptr=torch.zeros(1), y_ptr=y, N=6)
    assert y.item() == 15 + 6 + 6 + 3 + 6 + 1
    assert len(trace.printed) == 1


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("if x > 0: tl.store(y_ptr + offs, x)", "tl.where"),
        ("tl.store(y_ptr + offs, x + tl.arange(0, 8))", "16"),
        ("tl.store(y_ptr, tl.load(x_ptr) * scale)", "scale"),
        ("tl.store(y_ptr + tl.arange(0, 12), 0.0)", "power of 2"),
        ('tl.device_assert(tl.load(x_ptr) > 100, "x is small")', "x is small"),
        ("tl.store(y_ptr, tl.exp(tl.load(x_ptr).to(tl.float16)))", "float32"),
        ('tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], tl.float32, True, 1)', "assembly"),
    ],
    ids=["branch on a tile", "shapes", "unknown name", "size", "assertion", "exp of half", "assembly"],
)
def test_errors_name_the_line_and_say_what_to_do(statement, words, tmp_path):
    kernel = kernel_of(tmp_path, statement)
    launch = Launch((1,), {"x_ptr": torch.zeros(64), "y_ptr": nans(64)}, {}, ("y_ptr",))
    with pytest.raises(SimulationError, match=words) as caught:
        simulate(kernel, launch)
    assert caught.value.line == line_of(kernel, statement)
    assert caught.value.status == "runtime_error"
    assert caught.value.detail


def test_an_operation_of_a_newer_triton_is_refused():
    """What is not written here cannot reach a virtual address."""
    with pytest.raises(Unsupported, match="does not know"):
        Primitives().create_something_new()
