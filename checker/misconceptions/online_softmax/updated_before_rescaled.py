"""Believed: the new maximum can be stored away at once; the factor is computed from it and the running maximum afterwards.

Instead: once the running maximum has been replaced, the old one is gone: the factor compares the new maximum with
itself, exp(0) is 1, and the old sum is never rescaled. Compute the factor first, or keep both maxima under two names
until the sum is done.

Try: print both maxima at the moment the factor is computed, or look at them in the film.
"""

import triton
import triton.language as tl

GATE = "values"
SAME_AS = ("sum_not_rescaled",)


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
        m_i = m_new  # wrong
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        l_i = l_i * tl.exp(m_i - m_safe) + tl.sum(tl.exp(x - m_safe), axis=0)
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)
