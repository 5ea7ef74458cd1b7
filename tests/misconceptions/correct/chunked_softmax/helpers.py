"""Correct. A helper that loads a chunk, one that loops."""

import triton
import triton.language as tl


@triton.jit
def chunk(x_row, start, N, BLOCK_N: tl.constexpr):
    cols = start + tl.arange(0, BLOCK_N)
    return tl.load(x_row + cols, cols < N, float("-inf")).to(tl.float32)


@triton.jit
def row_max(x_row, N, BLOCK_N: tl.constexpr):
    top = float("-inf")
    for start in range(0, N, BLOCK_N):
        top = tl.maximum(top, tl.max(chunk(x_row, start, N, BLOCK_N), 0))
    return top


@triton.jit
def chunked_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * stride_xm
    top = row_max(x_row, N, BLOCK_N)
    total = 0.0
    for start in range(0, N, BLOCK_N):
        total += tl.sum(tl.exp(chunk(x_row, start, N, BLOCK_N) - top), 0)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        y = tl.exp(chunk(x_row, start, N, BLOCK_N) - top) / total
        tl.store(y_ptr + row * stride_ym + cols, y, cols < N)
