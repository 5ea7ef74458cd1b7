"""Correct. While loops, pointers moved along the row."""

import triton
import triton.language as tl


@triton.jit
def tiled_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    lanes = tl.arange(0, BLOCK_N)
    x_ptrs = x_ptr + rows.to(tl.int64)[:, None] * stride_xm + lanes[None, :]
    y_ptrs = y_ptr + rows.to(tl.int64)[:, None] * stride_ym + lanes[None, :]
    top = tl.zeros([BLOCK_M], dtype=tl.float32) - 3.0e38
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    left = N
    while left > 0:
        x = tl.load(x_ptrs, mask=(rows[:, None] < M) & (lanes[None, :] < left), other=float("-inf")).to(tl.float32)
        higher = tl.maximum(top, tl.max(x, axis=1))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(x - higher[:, None]), axis=1)
        top = higher
        x_ptrs += BLOCK_N
        left -= BLOCK_N
    x_ptrs = x_ptr + rows.to(tl.int64)[:, None] * stride_xm + lanes[None, :]
    left = N
    while left > 0:
        inside = (rows[:, None] < M) & (lanes[None, :] < left)
        x = tl.load(x_ptrs, mask=inside, other=float("-inf")).to(tl.float32)
        tl.store(y_ptrs, tl.exp(x - top[:, None]) / total[:, None], mask=inside)
        x_ptrs += BLOCK_N
        y_ptrs += BLOCK_N
        left -= BLOCK_N
