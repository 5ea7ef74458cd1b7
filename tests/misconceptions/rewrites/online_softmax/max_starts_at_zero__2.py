"""A vector of maxima that starts as zeros."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    r = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    tops = tl.zeros([BLOCK_N], dtype=tl.float32)
    sums = tl.zeros([BLOCK_N], dtype=tl.float32)
    for k in range(0, N, BLOCK_N):
        v = tl.load(x_ptr + r * stride_xm + k + cols, mask=k + cols < N, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(tops, v)
        sums = sums * tl.exp(tops - higher) + tl.exp(v - higher)
        tops = higher
    top = tl.max(tops, axis=0)
    total = tl.sum(sums * tl.exp(tops - top), axis=0)
    for k in range(0, N, BLOCK_N):
        v = tl.load(x_ptr + r * stride_xm + k + cols, mask=k + cols < N, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + r * stride_ym + k + cols, tl.exp(v - top) / total, mask=k + cols < N)
