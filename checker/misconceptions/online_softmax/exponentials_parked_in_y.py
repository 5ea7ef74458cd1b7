"""Believed: the first walk can store the exponentials in the output together with the maximum they were measured against;
the second walk reads them back and mends them.

Instead: it can, and the numbers come out right, but the output was to be written once and never read. Parking the
exponentials there writes the matrix twice and reads it once, which is more than reading x again. Recomputing an
exponential costs almost nothing beside a trip to memory.

Try: count the bytes of y in the card: how often is it written, how often read?
"""

import triton
import triton.language as tl

GATE = "traffic"


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * stride_xm
    y_row = y_ptr + row * stride_ym
    m_i = float("-inf")
    l_i = 0.0
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        l_i = l_i * tl.exp(m_i - m_safe) + tl.sum(tl.exp(x - m_safe), axis=0)
        tl.store(y_row + offs_n, tl.exp(x - m_safe), mask=offs_n < N)  # wrong
        m_i = m_new
    m_run = float("-inf")
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        m_run = tl.maximum(m_run, tl.max(x, axis=0))
        p = tl.load(y_row + offs_n, mask=offs_n < N, other=0.0).to(tl.float32)
        tl.store(y_row + offs_n, p * tl.exp(m_run - m_i) / l_i, mask=offs_n < N)
