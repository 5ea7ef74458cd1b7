"""Believed: there is one answer to compute, and every program computes it.

Instead: there is one answer for each row, and each program has to do its own: only the program id tells it which.
Without it all of them merge row 0, and the other rows are never written.

Try: choose program 1 in the film and look at which row it stores.
"""

import triton
import triton.language as tl

GATE = ("values", "memory")


@triton.jit
def merge_softmax_stats_kernel(m_part_ptr, l_part_ptr, m_ptr, l_ptr, stride_pm, SPLITS, BLOCK_S: tl.constexpr):
    row = 0  # wrong
    offs_s = tl.arange(0, BLOCK_S)
    mask = offs_s < SPLITS
    # [BLOCK_S]
    m_part = tl.load(m_part_ptr + row * stride_pm + offs_s, mask=mask, other=float("-inf"))
    # [BLOCK_S]
    l_part = tl.load(l_part_ptr + row * stride_pm + offs_s, mask=mask, other=0.0)
    m_i = tl.max(m_part, axis=0)
    m_safe = tl.where(m_i == float("-inf"), 0.0, m_i)
    l_i = tl.sum(l_part * tl.exp(m_part - m_safe), axis=0)
    tl.store(m_ptr + row, m_i)
    tl.store(l_ptr + row, l_i)
