"""Loads, stores and atomics do to a tensor what they do on a GPU."""

import pytest
import torch
import triton
import triton.language as tl

from checker.puzzle import Launch
from checker.simulator import SimulationError, simulate
from tests.simulator.launching import elementwise, kernel_of, kinds, line_of, nans, run


@triton.jit
def adds_atomically(x_ptr, y_ptr, N, PLAIN: tl.constexpr, BLOCK_N: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + offs, mask=offs < N, other=0.0)
    if PLAIN and tl.program_id(0) == 1:
        tl.store(y_ptr, 0.0)
    tl.atomic_add(y_ptr, tl.sum(x, axis=0))


def test_atomics():
    x, y = torch.randn(37), torch.zeros(1)
    trace = run(adds_atomically, (3,), ("y_ptr",), {"BLOCK_N": 16, "PLAIN": False}, x_ptr=x, y_ptr=y, N=37)
    torch.testing.assert_close(y, x.sum()[None])
    assert trace.findings == []
    assert trace.traffic["y_ptr"].loaded == trace.traffic["y_ptr"].stored == 12
    assert [e.kind for e in trace.events if e.tensor == "y_ptr"] == ["atomic"] * 3
    mixed = run(adds_atomically, (3,), ("y_ptr",), {"BLOCK_N": 16, "PLAIN": True}, x_ptr=x, y_ptr=y, N=37)
    assert kinds(mixed) == {"race"}


@triton.jit
def more_atomics(y_ptr, i_ptr):
    offs = tl.arange(0, 4)
    tl.atomic_max(y_ptr + offs, offs.to(tl.float32) - 1.5)
    old = tl.atomic_cas(i_ptr, 0, 7)
    again = tl.atomic_cas(i_ptr, 0, 9)
    tl.atomic_xchg(i_ptr + 1, old + again)


def test_atomic_max_and_compare_and_swap():
    y, i = torch.zeros(4), torch.zeros(2, dtype=torch.int32)
    run(more_atomics, (1,), ("y_ptr", "i_ptr"), {}, y_ptr=y, i_ptr=i)
    assert y.tolist() == [0.0, 0.0, 0.5, 1.5]
    assert i.tolist() == [7, 7]


@triton.jit
def reads_bytes_as_floats(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    words = x_ptr.to(tl.pointer_type(tl.float32))
    tl.store(y_ptr + offs, tl.load(words + offs))


@pytest.mark.parametrize("block", [1, 4], ids=["one", "several"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16], ids=str)
def test_memory_is_read_with_the_width_it_has(dtype, block):
    """A pointer to wider elements reaches other bytes than its offsets say: refused, for one-byte tensors too."""
    x = torch.zeros(16, dtype=dtype)
    launch = Launch((1,), {"x_ptr": x, "y_ptr": nans(block)}, {"BLOCK": block}, ("y_ptr",))
    with pytest.raises(SimulationError, match="elements of another size") as caught:
        simulate(reads_bytes_as_floats, launch)
    assert caught.value.line == line_of(reads_bytes_as_floats, "tl.load(words")


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.float8_e5m2], ids=str)
def test_one_byte_elements_are_copied(dtype, tmp_path):
    y = elementwise(kernel_of(tmp_path, "tl.store(y_ptr + offs, x)"), torch.tensor([1.0, 0.0] * 8).to(dtype))
    assert y.float().tolist() == [1.0, 0.0] * 8
