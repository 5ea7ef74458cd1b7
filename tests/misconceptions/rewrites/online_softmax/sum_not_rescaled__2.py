"""A while loop, and a factor that compares the new maximum with itself."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    r = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_N)
    top = float("-inf")
    total = 0.0
    at = 0
    while at < N:
        v = tl.load(x_ptr + r * stride_xm + at + lanes, mask=lanes < N - at, other=float("-inf")).to(tl.float32)
        top = tl.maximum(tl.max(v, axis=0), top)
        base = tl.where(top == float("-inf"), 0.0, top)
        total = tl.sum(tl.exp(v - base), axis=0) + tl.exp(base - base) * total
        at += BLOCK_N
    at = 0
    while at < N:
        v = tl.load(x_ptr + r * stride_xm + at + lanes, mask=lanes < N - at, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + r * stride_ym + at + lanes, tl.exp(v - top) * (1.0 / total), mask=lanes < N - at)
        at += BLOCK_N
