"""Events: their lines and loops, and what the kernel's variables held."""

import torch
import triton
import triton.language as tl

from tests.simulator import kernels
from tests.simulator.launching import STATE, line_of, nans, run, softmax


@triton.jit
def load_one(x_ptr, i):
    return tl.load(x_ptr + i)


@triton.jit
def with_helper(x_ptr, y_ptr, N):
    total = 0.0
    for i in range(N):
        j = 0
        while j < 2:
            total += load_one(x_ptr, i)
            j += 1
    tl.store(y_ptr, total)


def test_lines_and_loops_through_helpers_and_while():
    x, y = torch.randn(3), nans(1)
    trace = run(with_helper, (1,), ("y_ptr",), {}, x_ptr=x, y_ptr=y, N=3)
    torch.testing.assert_close(y, 2 * x.sum()[None])
    loads = [e for e in trace.events if e.kind == "load"]
    assert {e.function for e in loads} == {"load_one"}
    assert {e.line for e in loads} == {line_of(load_one, "tl.load")}
    assert {e.kernel_line for e in loads} == {line_of(with_helper, "load_one(")}
    assert [e.loops for e in loads] == [(("i", i), ("while", visit)) for i in range(3) for visit in (1, 2)]
    assert trace.events[-1].loops == ()
    assert trace.writer_lines["y_ptr"].tolist() == [line_of(with_helper, "tl.store")]


def test_state_is_what_the_kernel_held_just_before():
    trace, _ = softmax(kernels.online_softmax, torch.tensor([[1.0, 2.0, 3.0, 4.0]]), STATE, BLOCK_N=2)
    first, second, third = [e for e in trace.events if e.kind == "load"][:3]
    assert first.state == {"row": 0, "m_i": float("-inf"), "l_i": 0.0, "start": 0, "offs_n": [0, 1]}
    assert (second.state["m_i"], second.state["l_i"], second.state["x"]) == (2.0, 1.368, [1.0, 2.0])
    assert (third.state["m_i"], third.state["l_i"]) == (4.0, 1.553)


def test_large_tiles_are_summarised():
    trace, _ = softmax(kernels.row_softmax, torch.arange(2000.0)[None], STATE, BLOCK_N=2048)
    assert trace.events[-1].state["x"] == {"shape": [2048], "min": float("-inf"), "max": 1999.0}
