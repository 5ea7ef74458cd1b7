"""Believed: a part with a small maximum is brought up to the row's, by the factor exp(row's maximum - part's maximum);
only empty parts are left out.

Instead: leaving out the empty parts hides the infinity but not the sign. Terms that were measured against too small a
maximum are too large and have to shrink: the factor is exp(part's maximum - row's maximum), never above 1, and then the
empty parts drop out by themselves.

Try: merge (2, 1.368) and (4, 1.368). By what is the first sum multiplied?
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
    alpha = tl.where(l_part > 0.0, tl.exp(m_safe - m_part), 0.0)  # wrong
    l_i = tl.sum(l_part * alpha, axis=0)
    tl.store(m_ptr + row, m_i)
    tl.store(l_ptr + row, l_i)
