"""Believed: a very negative number is as good as -inf: -1e9 is smaller than anything a row will ever hold.

Instead: float32 goes down to about -3.4e38, and whoever calls the kernel may use all of it. A row below the stand-in gets
the stand-in for its maximum, every true exponential becomes 0, and the spare lanes, whose exponential is exp(0), make up
the whole sum. Only -inf is below every number.

Try: take a row of two numbers, -1e38 and -2e38, in a chunk of four columns. What is the maximum of all four?
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
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=-1.0e9).to(tl.float32)  # wrong
        m_i = tl.maximum(m_i, tl.max(x, axis=0))
    l_i = 0.0
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=-1.0e9).to(tl.float32)  # wrong
        l_i += tl.sum(tl.exp(x - m_i), axis=0)
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=-1.0e9).to(tl.float32)
        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)
