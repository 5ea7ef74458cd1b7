"""Believed: a maximum is at least 0, or can start there.

Instead: 0 is above every maximum of a row of negative numbers. The row then gets the maximum 0, which none of its
elements has, and its sum is measured against that: for a row around -300 it is 0.

Try: merge (-5, 1) with (-7, 1).
"""

import triton
import triton.language as tl

GATE = "values"


@triton.jit
def merge_softmax_stats_kernel(m_part_ptr, l_part_ptr, m_ptr, l_ptr, stride_pm, SPLITS, BLOCK_S: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_s = tl.arange(0, BLOCK_S)
    mask = offs_s < SPLITS
    # [BLOCK_S]
    m_part = tl.load(m_part_ptr + row * stride_pm + offs_s, mask=mask, other=float("-inf"))
    # [BLOCK_S]
    l_part = tl.load(l_part_ptr + row * stride_pm + offs_s, mask=mask, other=0.0)
    m_i = tl.maximum(tl.max(m_part, axis=0), 0.0)  # wrong
    m_safe = tl.where(m_i == float("-inf"), 0.0, m_i)
    l_i = tl.sum(l_part * tl.exp(m_part - m_safe), axis=0)
    tl.store(m_ptr + row, m_i)
    tl.store(l_ptr + row, l_i)
