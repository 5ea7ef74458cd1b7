"""Believed: a lane past the end of the row should hold 0, because 0 does nothing.

Instead: 0 does nothing in a sum, but it takes part in a maximum, and its exponential is not 0. In a row of only
negative numbers the 0 becomes the maximum; in every row each spare lane adds its own exponential to the sum. The
value that neither wins a maximum nor adds to the sum is minus infinity.

Try: take a row of three numbers, -5, -6 and -7, in a tile of four lanes, and compute the maximum and the sum by hand.
"""

import triton
import triton.language as tl

GATE = "values"
SAME_AS = ("zero_lanes_in_sum",)


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=0.0).to(tl.float32)  # wrong
    m_i = tl.max(x, axis=0)
    p = tl.exp(x - m_i)
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
