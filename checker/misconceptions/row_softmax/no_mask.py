"""Believed: a row fills its tile.

Instead: the tile has a power of two lanes and the row has N elements, so some lanes are usually left over. Without a
mask they read the start of the next row, which then takes part in this row's maximum and sum, and they write there as
well.
"""

import triton
import triton.language as tl

GATE = ("values", "memory")


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + row * stride_xm + offs_n).to(tl.float32)  # wrong
    m_i = tl.max(x, axis=0)
    p = tl.exp(x - m_i)
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i)  # wrong
