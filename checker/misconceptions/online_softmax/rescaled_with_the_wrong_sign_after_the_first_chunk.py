"""Believed: the first chunk needs no rescaling, and after it the old sum is multiplied by exp(new maximum - old maximum).

Instead: treating the first chunk apart hides the infinity but not the sign. The old terms were measured against a
smaller maximum, so they must shrink: the factor is exp(old maximum - new maximum), never above 1, and then the first
chunk needs no case of its own.

Try: walk over 1, 2, 3, 4 in chunks of two: by what do you multiply the first sum, 1.368?
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
        alpha = tl.where(m_i == float("-inf"), 0.0, tl.exp(m_safe - m_i))  # wrong
        l_i = l_i * alpha + tl.sum(tl.exp(x - m_safe), axis=0)
        m_i = m_new
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)
