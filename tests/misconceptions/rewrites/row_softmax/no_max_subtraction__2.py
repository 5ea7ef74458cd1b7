"""Zeroes the spare lanes after the exponential."""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    m = tl.program_id(0)
    n = tl.arange(0, BLOCK_N)
    keep = n < N
    x = tl.load(x_ptr + m * stride_xm + n, mask=keep, other=0.0).to(tl.float32)
    e = tl.where(keep, tl.exp(x), 0.0)
    total = tl.sum(e, axis=0)
    out = e / total
    tl.store(y_ptr + m * stride_ym + n, out, mask=keep)
