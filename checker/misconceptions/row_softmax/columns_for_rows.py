"""Believed: a softmax is taken down the columns.

Instead: here every row is a set of numbers of its own: elements of one row lie side by side, so the lanes step by 1
and the program id steps by the stride. With the two exchanged a program walks down a column and leaves the matrix at
its end.
"""

import triton
import triton.language as tl

GATE = ("values", "memory")


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row + offs_n * stride_xm, mask=mask, other=float("-inf")).to(tl.float32)  # wrong
    m_i = tl.max(x, axis=0)
    p = tl.exp(x - m_i)
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row + offs_n * stride_ym, p / l_i, mask=mask)  # wrong
