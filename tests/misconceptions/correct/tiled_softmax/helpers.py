"""Correct. A helper that loads a tile, one that takes a step of the recurrence; the state keeps its second axis."""

import triton
import triton.language as tl


@triton.jit
def tile(x_ptr, rows, start, stride_xm, M, N, BLOCK_N: tl.constexpr):
    cols = start + tl.arange(0, BLOCK_N)
    inside = (rows < M)[:, None] & (cols < N)[None, :]
    return tl.load(x_ptr + rows.to(tl.int64)[:, None] * stride_xm + cols[None, :], inside, float("-inf")).to(tl.float32)


@triton.jit
def step(top, total, x):
    higher = tl.maximum(top, tl.max(x, axis=1, keep_dims=True))
    base = tl.where(higher == float("-inf"), 0.0, higher)
    return higher, total * tl.exp(top - base) + tl.sum(tl.exp(x - base), axis=1, keep_dims=True)


@triton.jit
def tiled_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    top = tl.full([BLOCK_M, 1], float("-inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_M, 1], dtype=tl.float32)
    for start in range(0, N, BLOCK_N):
        top, total = step(top, total, tile(x_ptr, rows, start, stride_xm, M, N, BLOCK_N))
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        y = tl.exp(tile(x_ptr, rows, start, stride_xm, M, N, BLOCK_N) - top) / total
        tl.store(
            y_ptr + rows.to(tl.int64)[:, None] * stride_ym + cols[None, :], y, (rows < M)[:, None] & (cols < N)[None, :]
        )
