"""Events: lines, loops, boxes and state."""

import torch
import triton
import triton.language as tl

from checker.simulator import SimulateOptions
from tests.simulator import kernels
from tests.simulator.launching import line_of, nans, run, run_with


def boxes(trace, tensor):
    return [(e.tile.box, e.tile.active) for e in trace.events if e.tensor == tensor]


def test_tiles_that_hang_over_both_edges():
    m, n = 5, 7
    trace = run(
        kernels.tiled_softmax, (2,), ("y_ptr",), {"BLOCK_M": 4, "BLOCK_N": 4},
        x_ptr=torch.randn(m, n), y_ptr=nans(m, n), stride_xm=n, stride_ym=n, M=m, N=n,
    )  # fmt: skip
    assert boxes(trace, "y_ptr") == [
        (((0, 4), (0, 4)), ((0, 4), (0, 4))),
        (((0, 4), (4, 8)), ((0, 4), (4, 7))),
        (((4, 8), (0, 4)), ((4, 5), (0, 4))),
        (((4, 8), (4, 8)), ((4, 5), (4, 7))),
    ]
    stored = [e for e in trace.events if e.kind == "store"]
    assert [e.bytes for e in stored] == [64, 48, 16, 12]
    assert [e.masked for e in stored] == [0, 4, 12, 13]
    assert all(e.tile.elements is None for e in stored)
    assert [e.loops for e in stored] == [(("start", 0),), (("start", 4),)] * 2
    assert {e.line for e in stored} == {line_of(kernels.tiled_softmax, "tl.store")}


def test_a_row_longer_than_the_tensor_is_wide():
    trace = run(
        kernels.row_softmax, (3,), ("y_ptr",), {"BLOCK_N": 16},
        x_ptr=torch.randn(3, 5), y_ptr=nans(3, 5), stride_xm=5, stride_ym=5, N=5,
    )  # fmt: skip
    assert boxes(trace, "x_ptr") == [(((r, r + 1), (0, 16)), ((r, r + 1), (0, 5))) for r in range(3)]


def test_a_tile_entirely_past_the_end_of_its_row():
    @triton.jit
    def chunk(x_ptr, N, BLOCK: tl.constexpr):
        row = tl.program_id(0)
        offs_n = 8 + tl.arange(0, BLOCK)
        tl.load(x_ptr + row * N + offs_n, mask=offs_n < N, other=0.0)

    trace = run(chunk, (2,), (), {"BLOCK": 8}, x_ptr=torch.randn(2, 5), N=5)
    assert boxes(trace, "x_ptr") == [(((r, r + 1), (8, 16)), None) for r in range(2)]


@triton.jit
def head_tile(x_ptr, stride_b, stride_h, stride_n, stride_d, N, BLOCK_N: tl.constexpr, D: tl.constexpr):
    batch, head = tl.program_id(1), tl.program_id(2)
    offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    x_ptr += batch * stride_b + head * stride_h
    tl.load(x_ptr + offs_n[:, None] * stride_n + offs_d[None, :] * stride_d, mask=offs_n[:, None] < N, other=0.0)


def test_four_dimensions_in_any_layout():
    contiguous = torch.randn(2, 3, 10, 4)
    transposed = torch.randn(2, 10, 3, 4).transpose(1, 2)
    backwards = torch.randn(2, 3, 4, 10).mT
    shared = torch.randn(2, 1, 10, 4).expand(2, 3, 10, 4)
    for x in (contiguous, transposed, backwards, shared):
        sb, sh, sn, sd = x.stride()
        trace = run(
            head_tile, (2, 2, 3), (), {"BLOCK_N": 8, "D": 4},
            x_ptr=x, stride_b=sb, stride_h=sh, stride_n=sn, stride_d=sd, N=10,
        )  # fmt: skip
        assert trace.findings == []
        for event in trace.events:
            start, batch, head = event.program
            head = 0 if sh == 0 else head  # every head of an expanded tensor is the same memory
            rows = (8 * start, 8 * start + 8)
            assert event.tile.box == ((batch, batch + 1), (head, head + 1), rows, (0, 4))
            assert event.tile.active == ((batch, batch + 1), (head, head + 1), (rows[0], min(10, rows[1])), (0, 4))


@triton.jit
def one_offset(x_ptr, stride_m, M, N, BLOCK: tl.constexpr):
    offs_m, offs_n = tl.arange(0, BLOCK), tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    offsets = offs_m[:, None] * stride_m + offs_n[None, :]
    tl.load(x_ptr + offsets, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N), other=0.0)


def test_offsets_added_up_before_the_pointer():
    trace = run(one_offset, (2,), (), {"BLOCK": 4}, x_ptr=torch.randn(3, 6), stride_m=6, M=3, N=6)
    assert boxes(trace, "x_ptr") == [(((0, 4), (0, 4)), ((0, 3), (0, 4))), (((0, 4), (4, 8)), ((0, 3), (4, 6)))]


@triton.jit
def triangle(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.load(x_ptr + i[:, None] * BLOCK + i[None, :], mask=i[:, None] >= i[None, :], other=0.0)
    tl.load(x_ptr + i * 5)


def test_irregular_tiles_list_their_elements():
    trace = run(triangle, (1,), (), {"BLOCK": 4}, x_ptr=torch.randn(4, 4))
    lower, diagonal = (e.tile for e in trace.events)
    assert lower.active == ((0, 4), (0, 4))
    assert lower.elements == (0, 4, 5, 8, 9, 10, 12, 13, 14, 15)
    assert diagonal.elements == (0, 5, 10, 15)


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
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    trace = run_with(
        SimulateOptions(events=True, state=True), kernels.online_softmax, (1,), ("y_ptr",), {"BLOCK_N": 2},
        x_ptr=x, y_ptr=nans(1, 4), stride_xm=4, stride_ym=4, N=4,
    )  # fmt: skip
    first, second, third = [e for e in trace.events if e.kind == "load"][:3]
    assert first.state == {"row": 0, "m_i": float("-inf"), "l_i": 0.0, "start": 0, "offs_n": [0, 1]}
    assert (second.state["m_i"], second.state["l_i"], second.state["x"]) == (2.0, 1.368, [1.0, 2.0])
    assert (third.state["m_i"], third.state["l_i"]) == (4.0, 1.553)


def test_large_tiles_are_summarised():
    trace = run_with(
        SimulateOptions(events=True, state=True), kernels.row_softmax, (1,), ("y_ptr",), {"BLOCK_N": 2048},
        x_ptr=torch.arange(2000.0)[None], y_ptr=nans(1, 2000), stride_xm=2000, stride_ym=2000, N=2000,
    )  # fmt: skip
    assert trace.events[-1].state["x"] == {"shape": [2048], "min": float("-inf"), "max": 1999.0}
