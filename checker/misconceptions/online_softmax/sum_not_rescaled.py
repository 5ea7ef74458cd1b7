"""Believed: each chunk's exponentials are measured against the largest number seen so far, and their sums simply add up.

Instead: exp(x - m) means something only beside the m it was taken with. When the maximum grows from one chunk to the
next, the terms already added are too large by the factor exp(new maximum - old maximum), and so is the sum. Either the
maximum is known before the sum begins, or the old sum is brought to the new maximum each time.

Try: walk over 1, 2, 3, 4 in chunks of two and compare your sum with exp(-3) + exp(-2) + exp(-1) + 1.
"""

import triton
import triton.language as tl

GATE = "values"
SAME_AS = ("updated_before_rescaled",)


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
        l_i = l_i + tl.sum(tl.exp(x - m_safe), axis=0)  # wrong
        m_i = m_new
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)
