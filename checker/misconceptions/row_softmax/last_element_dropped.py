"""Believed: the last index is N - 1, so lanes below N - 1 are the row.

Instead: below N - 1 stops one short: the element at index N - 1 is part of the row. It is left out of the maximum and
the sum, and its place in the output is never written.

Try: write down the indices of a row of three elements, and ask of each whether the mask lets it through.
"""

import triton
import triton.language as tl

GATE = "values"


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N - 1  # wrong
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf")).to(tl.float32)
    m_i = tl.max(x, axis=0)
    p = tl.exp(x - m_i)
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
