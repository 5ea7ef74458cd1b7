"""Believed: the exponentials can be stored during the first walk; the second walk only divides them by the final sum.

Instead: what the first walk stores was measured against the maximum of that moment, not against the final one. Chunks
stored before the last growth of the maximum are too large. The second walk has to take the exponentials anew, from x
and the final maximum, and that is also cheaper than reading the output back.

Try: which maximum was subtracted in the first chunk of your output, and which in the last?
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
        l_i = l_i * tl.exp(m_i - m_safe) + tl.sum(tl.exp(x - m_safe), axis=0)
        tl.store(y_row + offs_n, tl.exp(x - m_safe), mask=offs_n < N)  # wrong
        m_i = m_new
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        p = tl.load(y_row + offs_n, mask=offs_n < N, other=0.0).to(tl.float32)
        tl.store(y_row + offs_n, p / l_i, mask=offs_n < N)
