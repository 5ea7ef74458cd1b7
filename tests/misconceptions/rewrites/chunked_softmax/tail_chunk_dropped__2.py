"""A while loop that stops before a chunk that would hang over."""

import triton
import triton.language as tl


@triton.jit
def chunked_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    r = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_N)
    top = float("-inf")
    at = 0
    while at + BLOCK_N <= N:
        v = tl.load(x_ptr + r * stride_xm + at + lanes, mask=at + lanes < N, other=float("-inf")).to(tl.float32)
        top = tl.maximum(top, tl.max(v, axis=0))
        at += BLOCK_N
    total = 0.0
    at = 0
    while at + BLOCK_N <= N:
        v = tl.load(x_ptr + r * stride_xm + at + lanes, mask=at + lanes < N, other=float("-inf")).to(tl.float32)
        total += tl.sum(tl.exp(v - top), axis=0)
        at += BLOCK_N
    at = 0
    while at + BLOCK_N <= N:
        v = tl.load(x_ptr + r * stride_xm + at + lanes, mask=at + lanes < N, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + r * stride_ym + at + lanes, tl.exp(v - top) / total, mask=at + lanes < N)
        at += BLOCK_N
