"""Believed: spare lanes are 0 by now, so storing them does no harm.

Instead: they are written all the same, over the beginning of the next row, or past the end of the matrix for the last
one. The next row's program writes there too, and which of the two comes last is chance.
"""

import triton
import triton.language as tl

GATE = ("memory", "values")


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf")).to(tl.float32)
    m_i = tl.max(x, axis=0)
    p = tl.exp(x - m_i)
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i)  # wrong
