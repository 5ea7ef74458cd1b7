"""Believed: spare lanes only have to be kept out of the sum.

Instead: the maximum looks at every lane too. When all numbers of a row are negative, a spare lane that holds 0 wins,
and exp of a very negative number minus 0 is 0 for the whole row: what is left is 0 divided by 0.

Try: follow a row of only negative numbers, and write down which lane the maximum comes from.
"""

import triton
import triton.language as tl

GATE = "values"
SAME_AS = ("max_starts_at_zero",)


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0).to(tl.float32)
    m_i = tl.max(x, axis=0)  # wrong
    p = tl.where(mask, tl.exp(x - m_i), 0.0)
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
