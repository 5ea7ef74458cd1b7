"""exp2, and each chunk's own (m, l) merged without a guard."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    r = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_N)
    m = float("-inf")
    d = 0.0
    at = 0
    while at < N:
        v = (
            tl.load(x_ptr + r * stride_xm + at + lanes, mask=lanes < N - at, other=float("-inf")).to(tl.float32)
            * 1.4426950408889634
        )
        here = tl.max(v, axis=0)
        part = tl.sum(tl.exp2(v - here), axis=0)
        both = tl.maximum(m, here)
        d = d * tl.exp2(m - both) + part * tl.exp2(here - both)
        m = both
        at += BLOCK_N
    at = 0
    while at < N:
        v = (
            tl.load(x_ptr + r * stride_xm + at + lanes, mask=lanes < N - at, other=float("-inf")).to(tl.float32)
            * 1.4426950408889634
        )
        tl.store(y_ptr + r * stride_ym + at + lanes, tl.exp2(v - m) / d, mask=lanes < N - at)
        at += BLOCK_N
