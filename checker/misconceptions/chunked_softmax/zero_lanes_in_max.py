"""Believed: the lanes past the end of the row hold nothing, and nothing is 0, so 0 is what a masked load should give.

Instead: to a maximum, 0 is a number like any other, and larger than every number of a negative row; to the exponential
it is a term that should not be there. The value that changes neither the maximum nor the sum is -inf: it is never the
largest, and its exponential is 0.

Try: take the row -300, -301, -302 and a chunk of four lanes. What is the maximum of the four lanes?
"""

import triton
import triton.language as tl

GATE = "values"


@triton.jit
def chunked_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * stride_xm
    y_row = y_ptr + row * stride_ym
    m_i = float("-inf")
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=0.0).to(tl.float32)  # wrong
        m_i = tl.maximum(m_i, tl.max(x, axis=0))
    l_i = 0.0
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        l_i += tl.sum(tl.exp(x - m_i), axis=0)
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)
