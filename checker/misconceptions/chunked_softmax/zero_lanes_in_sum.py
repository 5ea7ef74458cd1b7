"""Believed: only the maximum needs care with the lanes past the end; in the sum a 0 adds nothing.

Instead: what is added is not the lane but its exponential. A lane that holds 0 adds exp(0 - m), which is 1 if m is 0
and enormous if m is very negative. The lane has to hold -inf when the exponential is taken, or its exponential has to
be set to 0 afterwards.

Try: the row is 1, 2, 3 and a chunk has four lanes: write down the four terms of your sum.
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
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        m_i = tl.maximum(m_i, tl.max(x, axis=0))
    l_i = 0.0
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=0.0).to(tl.float32)  # wrong
        l_i += tl.sum(tl.exp(x - m_i), axis=0)
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)
