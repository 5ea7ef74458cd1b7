"""Believed: the logarithm of the softmax is the same thing on another scale.

Instead: it is a useful thing, and losses are computed from it, but not what was asked for: the outputs here are
shares between 0 and 1. Take the exponential, or divide instead of subtracting the logarithm of the sum.
"""

import triton
import triton.language as tl

GATE = "values"


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf")).to(tl.float32)
    m_i = tl.max(x, axis=0)
    p = tl.exp(x - m_i)
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * stride_ym + offs_n, x - m_i - tl.log(l_i), mask=mask)  # wrong
