"""Believed: what counts is the distance from the maximum, so maximum minus element will do.

Instead: the distance has a sign. With maximum minus element every exponent is positive: the smallest element gets the
largest share, and a lane of -inf becomes infinite. It is element minus maximum, never above 0.

Try: which of 1, 2, 3 has the largest softmax, and which has it in your output?
"""

import triton
import triton.language as tl

GATE = "values"


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
        l_i = l_i * tl.exp(m_i - m_safe) + tl.sum(tl.exp(m_safe - x), axis=0)  # wrong
        m_i = m_new
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        tl.store(y_row + offs_n, tl.exp(m_i - x) / l_i, mask=offs_n < N)
