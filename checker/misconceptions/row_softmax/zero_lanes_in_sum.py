"""Believed: once the maximum is right, spare lanes can hold 0.

Instead: the sum runs over exponentials, and the exponential of 0 minus the maximum is not 0. Every spare lane adds
it, so the row sums to less than 1. A lane adds nothing only if its exponential is 0.

Try: add up a row of the output. What is missing to 1, and how many spare lanes are there?
"""

import triton
import triton.language as tl

GATE = "values"
SAME_AS = ("zero_in_masked_lanes",)


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0).to(tl.float32)
    m_i = tl.max(tl.where(mask, x, float("-inf")), axis=0)
    p = tl.exp(x - m_i)
    l_i = tl.sum(p, axis=0)  # wrong
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
