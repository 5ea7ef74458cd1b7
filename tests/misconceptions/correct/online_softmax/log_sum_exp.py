"""Correct. Through the logarithm of the sum."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    top = float("-inf")
    total = 0.0
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(top, tl.max(x, 0))
        base = tl.maximum(higher, -1.0e38)
        total = total * tl.exp(top - base) + tl.sum(tl.exp(x - base), 0)
        top = higher
    lse = tl.log(total)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + row * stride_ym + cols, tl.exp(x - top - lse), mask=cols < N)
