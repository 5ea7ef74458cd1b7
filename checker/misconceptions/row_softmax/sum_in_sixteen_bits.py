"""Believed: the exponentials may be added in 16 bits, since each of them is at most 1.

Instead: the sum is not at most 1. Near 1000 neighbouring float16 numbers lie 0.5 apart, so small terms vanish as they
are added, and the whole row is divided by the wrong sum. Add in float32, whatever the inputs are.
"""

import triton
import triton.language as tl

GATE = "values"
NOISE = 0.004


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf")).to(tl.float32)
    m_i = tl.max(x, axis=0)
    p = tl.exp(x - m_i)
    l_i = tl.sum(p.to(tl.float16), axis=0).to(tl.float32)  # wrong
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
