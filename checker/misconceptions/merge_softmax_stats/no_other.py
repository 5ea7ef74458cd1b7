"""Believed: a mask is enough: the lanes that were not loaded take no part in what follows.

Instead: the mask only keeps the load from touching memory. The lanes are still there and take part in the maximum and
the sum, and without a value for them Triton promises nothing about what they hold. Say what they hold: -inf for the
maxima, 0 for the sums.

Try: with 5 parts in a tile of 8 lanes: what do the last three lanes hold?
"""

import triton
import triton.language as tl

GATE = ("values", "memory")


@triton.jit
def merge_softmax_stats_kernel(m_part_ptr, l_part_ptr, m_ptr, l_ptr, stride_pm, SPLITS, BLOCK_S: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_s = tl.arange(0, BLOCK_S)
    mask = offs_s < SPLITS
    # [BLOCK_S]
    m_part = tl.load(m_part_ptr + row * stride_pm + offs_s, mask=mask)  # wrong
    # [BLOCK_S]
    l_part = tl.load(l_part_ptr + row * stride_pm + offs_s, mask=mask)
    m_i = tl.max(m_part, axis=0)
    m_safe = tl.where(m_i == float("-inf"), 0.0, m_i)
    l_i = tl.sum(l_part * tl.exp(m_part - m_safe), axis=0)
    tl.store(m_ptr + row, m_i)
    tl.store(l_ptr + row, l_i)
