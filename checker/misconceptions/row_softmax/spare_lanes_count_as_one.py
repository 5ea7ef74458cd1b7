"""Believed: a lane that was set to 0 before the exponential adds 0 to the sum.

Instead: the exponential of 0 is 1. Setting the difference to 0 in the spare lanes gives each of them the weight of
the row's largest element. It is the exponential that has to be 0 there, not what goes into it.

Try: take a constant row of three numbers in a tile of four lanes: what should each output be, and what is it?
"""

import triton
import triton.language as tl

GATE = "values"


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf")).to(tl.float32)
    m_i = tl.max(x, axis=0)
    p = tl.exp(tl.where(mask, x - m_i, 0.0))  # wrong
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
