"""Believed: exp2 is the fast exponential, so it can stand in for exp.

Instead: exp2 raises 2, not e. The result still sums to 1 and still grows with the input, so it looks like a softmax,
but a flatter one. To use exp2, every exponent has to be multiplied by log2(e), about 1.4427, first.
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
    p = tl.exp2(x - m_i)  # wrong
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
