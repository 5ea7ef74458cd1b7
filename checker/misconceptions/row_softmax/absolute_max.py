"""Believed: the number to subtract is the one of largest magnitude.

Instead: what overflows is the exponential of a large positive number, so it is the largest number that has to become
0. In a row of negative numbers the largest magnitude belongs to the smallest number; subtracting it as a positive one
pushes every exponent further down, until all exponentials are 0.
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
    m_i = tl.max(tl.where(mask, tl.abs(x), 0.0), axis=0)  # wrong
    p = tl.exp(x - m_i)
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
