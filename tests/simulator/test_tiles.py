"""Tiles: the box that an access forms in its tensor, whatever addresses its masked lanes have."""

import torch
import triton
import triton.language as tl

from tests.simulator import kernels
from tests.simulator.launching import line_of, run, softmax


def boxes(trace, tensor):
    return [(e.tile.box, e.tile.active) for e in trace.events if e.tensor == tensor]


def test_tiles_that_hang_over_both_edges():
    trace, _ = softmax(kernels.tiled_softmax, torch.randn(5, 7), BLOCK_M=4, BLOCK_N=4)
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
    trace, _ = softmax(kernels.row_softmax, torch.randn(3, 5), BLOCK_N=16)
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
            head_tile,
            (2, 2, 3),
            (),
            {"BLOCK_N": 8, "D": 4},
            x_ptr=x,
            stride_b=sb,
            stride_h=sh,
            stride_n=sn,
            stride_d=sd,
            N=10,
        )
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
