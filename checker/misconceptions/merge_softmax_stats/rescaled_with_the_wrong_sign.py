"""Believed: a part with a small maximum is brought up to the row's, by the factor exp(row's maximum - part's maximum).

Instead: its terms were measured against too small a maximum and are too large: they have to shrink. The factor is
exp(part's maximum - row's maximum), never above 1, and 0 for an empty part, where the other sign gives infinity.

Try: is any of your factors above 1?
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
    l_i = tl.sum(l_part * tl.exp(m_safe - m_part), axis=0)  # wrong
    tl.store(m_ptr + row, m_i)
    tl.store(l_ptr + row, l_i)
