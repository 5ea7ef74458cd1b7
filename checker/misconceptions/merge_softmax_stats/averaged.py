"""Believed: the sum of the row is the average of what the parts bring, once they are measured against the same maximum.

Instead: nothing is averaged: each part holds other elements of the row, and their terms add up. Dividing by the number
of parts makes the sum too small and every softmax too large.

Try: merge (1, 1) with (1, 1): two elements, both 1.
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
    m_i = tl.max(m_part, axis=0)
    m_safe = tl.where(m_i == float("-inf"), 0.0, m_i)
    l_i = tl.sum(l_part * tl.exp(m_part - m_safe), axis=0) / SPLITS  # wrong
    tl.store(m_ptr + row, m_i)
    tl.store(l_ptr + row, l_i)
