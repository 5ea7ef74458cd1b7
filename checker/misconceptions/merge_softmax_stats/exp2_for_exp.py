"""Believed: exp2 is the fast exponential of the GPU, so it can stand in for exp.

Instead: the parts' sums were made with exp, and the factor has to undo exactly that. exp2 does so only if its argument
is multiplied by log2(e), about 1.4427, first.

Try: merge (2, 1.368) and (4, 1.368). The sum should be 1.553.
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
    l_i = tl.sum(l_part * tl.exp2(m_part - m_safe), axis=0)  # wrong
    tl.store(m_ptr + row, m_i)
    tl.store(l_ptr + row, l_i)
