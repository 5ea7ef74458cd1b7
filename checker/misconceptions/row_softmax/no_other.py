"""Believed: a masked lane holds 0, or does not take part at all.

Instead: a mask only says which addresses are not read. The lane is still there and still goes through every step that
follows, holding whatever it happens to hold. What it holds has to be said in the load, and for a softmax it has to be
something that cannot be the maximum and adds nothing to the sum.

Try: go down the kernel line by line and ask of each one what it does with the lanes past N.
"""

import triton
import triton.language as tl

GATE = ("values", "memory")


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask).to(tl.float32)  # wrong
    m_i = tl.max(x, axis=0)
    p = tl.exp(x - m_i)
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
