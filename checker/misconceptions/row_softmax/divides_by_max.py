"""Believed: dividing by the largest exponential normalises the row.

Instead: then the largest element becomes 1 and the row sums to more than 1. A softmax makes the sum 1, not the
maximum; the maximum is only taken out before the exponential.
"""

import triton
import triton.language as tl

GATE = "values"
SAME_AS = ("not_normalised",)


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf")).to(tl.float32)
    m_i = tl.max(x, axis=0)
    p = tl.exp(x - m_i)
    l_i = tl.max(p, axis=0)  # wrong
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
