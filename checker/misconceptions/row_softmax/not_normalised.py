"""Believed: the exponentials are the answer.

Instead: the outputs of a softmax are shares of a whole, and each row of them sums to 1. The exponentials still have
to be divided by their sum.
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
    tl.store(y_ptr + row * stride_ym + offs_n, p, mask=mask)  # wrong
