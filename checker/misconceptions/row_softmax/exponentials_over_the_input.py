"""Believed: the input is not needed any more, so it can hold the exponentials.

Instead: it is not this kernel's to overwrite: the next layer, or the backward pass, reads the same matrix. A tile
that is still needed stays in registers at no cost; it does not need a place in memory.
"""

import triton
import triton.language as tl

GATE = ("memory",)


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf")).to(tl.float32)
    m_i = tl.max(x, axis=0)
    p = tl.exp(x - m_i)
    tl.store(x_ptr + row * stride_xm + offs_n, p, mask=mask)  # wrong
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
