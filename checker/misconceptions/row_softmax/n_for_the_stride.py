"""Believed: the next row starts N elements further on.

Instead: that is so only if the rows lie next to each other. A slice of a wider matrix has N columns and rows that are
further apart. The stride is passed in because it is the only thing that knows.

Try: draw a 2 × 3 slice of a 2 × 5 matrix as one line of memory, and mark where row 1 starts.
"""

import triton
import triton.language as tl

GATE = ("values", "memory")


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * N + offs_n, mask=mask, other=float("-inf")).to(tl.float32)  # wrong
    m_i = tl.max(x, axis=0)
    p = tl.exp(x - m_i)
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * N + offs_n, p / l_i, mask=mask)  # wrong
