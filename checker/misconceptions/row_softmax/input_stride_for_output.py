"""Believed: both matrices have the same shape, so they have the same stride.

Instead: shape says how many elements there are, stride says how far apart they lie. Input and output may come from
different places, and the kernel is given a stride for each.
"""

import triton
import triton.language as tl

GATE = ("values", "memory")


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf")).to(tl.float32)
    m_i = tl.max(x, axis=0)
    p = tl.exp(x - m_i)
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * stride_xm + offs_n, p / l_i, mask=mask)  # wrong
