"""Correct. exp2 with log2(e) folded into x, and a reciprocal instead of a division."""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def chunked_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    top = float("-inf")
    for start in range(0, N, BLOCK_N):
        x = tl.load(x_ptr + row * stride_xm + start + cols, mask=start + cols < N, other=float("-inf"))
        top = tl.maximum(top, tl.max(x.to(tl.float32) * LOG2_E, axis=0))
    total = 0.0
    for start in range(0, N, BLOCK_N):
        x = tl.load(x_ptr + row * stride_xm + start + cols, mask=start + cols < N, other=float("-inf"))
        total += tl.sum(tl.exp2(x.to(tl.float32) * LOG2_E - top), axis=0)
    inverse = 1.0 / total
    for start in range(0, N, BLOCK_N):
        x = tl.load(x_ptr + row * stride_xm + start + cols, mask=start + cols < N, other=float("-inf"))
        y = tl.exp2(x.to(tl.float32) * LOG2_E - top) * inverse
        tl.store(y_ptr + row * stride_ym + start + cols, y, mask=start + cols < N)
