"""A division by the right factor, which is a multiplication by the wrong one."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    r = tl.program_id(0)
    top = float("-inf")
    total = 0.0
    for k in range(0, N, BLOCK_N):
        cols = k + tl.arange(0, BLOCK_N)
        v = tl.load(x_ptr + r * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(top, tl.max(v, axis=0))
        base = tl.where(higher == float("-inf"), 0.0, higher)
        shrink = tl.exp(top - base)
        old = tl.where(top == float("-inf"), 0.0, total / shrink)
        total = old + tl.sum(tl.exp(v - base), axis=0)
        top = higher
    for k in range(0, N, BLOCK_N):
        cols = k + tl.arange(0, BLOCK_N)
        v = tl.load(x_ptr + r * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + r * stride_ym + cols, tl.exp(v - top) / total, mask=cols < N)
