"""Correct. exp2 with log2(e) folded into x, and a reciprocal instead of a division."""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def tiled_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)
    top = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    for start in range(0, N, BLOCK_N):
        inside = (rows < M)[:, None] & (start + cols < N)[None, :]
        x = tl.load(x_ptr + rows[:, None] * stride_xm + (start + cols)[None, :], mask=inside, other=float("-inf"))
        x = x.to(tl.float32) * LOG2_E
        higher = tl.maximum(top, tl.max(x, axis=1))
        base = tl.where(higher == float("-inf"), 0.0, higher)
        total = total * tl.exp2(top - base) + tl.sum(tl.exp2(x - base[:, None]), axis=1)
        top = higher
    inverse = 1.0 / tl.where(rows < M, total, 1.0)
    for start in range(0, N, BLOCK_N):
        inside = (rows < M)[:, None] & (start + cols < N)[None, :]
        x = tl.load(x_ptr + rows[:, None] * stride_xm + (start + cols)[None, :], mask=inside, other=0.0)
        y = tl.exp2(x.to(tl.float32) * LOG2_E - top[:, None]) * inverse[:, None]
        tl.store(y_ptr + rows[:, None] * stride_ym + (start + cols)[None, :], y, mask=inside)
