"""Believed: the new maxima can be stored away at once; the factor is computed from them and the running maxima afterwards.

Instead: once the running maximum has been replaced, the old one is gone: the factor compares the new maximum with
itself, exp(0) is 1, and no sum is ever rescaled. Compute the factor first, or keep both under two names until the sums
are done.

Try: look at both maxima in the film at the moment the factor is computed.
"""

import triton
import triton.language as tl

GATE = "values"
SAME_AS = ("sum_not_rescaled",)


@triton.jit
def tiled_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    offs_m = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    # [BLOCK_M, 1]
    x_rows = x_ptr + offs_m.to(tl.int64)[:, None] * stride_xm
    y_rows = y_ptr + offs_m.to(tl.int64)[:, None] * stride_ym
    m_i = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        # [BLOCK_M, BLOCK_N]
        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=1))
        m_i = m_new  # wrong
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        l_i = l_i * tl.exp(m_i - m_safe) + tl.sum(tl.exp(x - m_safe[:, None]), axis=1)
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        # [BLOCK_M, BLOCK_N]
        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)
        tl.store(y_rows + offs_n[None, :], tl.exp(x - m_i[:, None]) / l_i[:, None], mask=mask)
