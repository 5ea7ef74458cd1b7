"""Correct. exp2 with log2(e) folded into x, and a reciprocal instead of a division."""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    top = float("-inf")
    total = 0.0
    for start in range(0, N, BLOCK_N):
        x = tl.load(x_ptr + row * stride_xm + start + cols, mask=start + cols < N, other=float("-inf"))
        x = x.to(tl.float32) * LOG2_E
        higher = tl.maximum(top, tl.max(x, axis=0))
        base = tl.where(higher == float("-inf"), 0.0, higher)
        total = total * tl.exp2(top - base) + tl.sum(tl.exp2(x - base), axis=0)
        top = higher
    inverse = 1.0 / total
    for start in range(0, N, BLOCK_N):
        x = tl.load(x_ptr + row * stride_xm + start + cols, mask=start + cols < N, other=float("-inf"))
        y = tl.exp2(x.to(tl.float32) * LOG2_E - top) * inverse
        tl.store(y_ptr + row * stride_ym + start + cols, y, mask=start + cols < N)
