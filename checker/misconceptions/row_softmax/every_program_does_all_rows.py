"""Believed: one program has to go through the matrix row by row.

Instead: the grid already is that loop: program 0 takes row 0, program 1 takes row 1, all at the same time. With a
loop inside, every program redoes the whole matrix, and all of them store the same elements.
"""

import triton
import triton.language as tl

GATE = ("memory",)


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    for row in range(tl.num_programs(0)):  # wrong
        x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf")).to(tl.float32)
        m_i = tl.max(x, axis=0)
        p = tl.exp(x - m_i)
        l_i = tl.sum(p, axis=0)
        tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
