"""Believed: any number of the row can be subtracted, the minimum as well as the maximum.

Instead: on paper any number can be, since it cancels. But after subtracting the minimum every exponent is at or above
0, and a wide row overflows: with an element of -inf in it, all others become infinite. Only the maximum keeps every
exponent at or below 0.
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
    m_i = tl.min(tl.where(mask, x, float("inf")), axis=0)  # wrong
    p = tl.exp(x - m_i)
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
