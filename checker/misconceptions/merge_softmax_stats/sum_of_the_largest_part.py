"""Believed: the part that holds the maximum holds the sum as well: the others are small beside it.

Instead: they are small only if their maxima lie far below. Ten parts with nearly the same maximum each carry a tenth of
the sum. Every part adds its sum times exp(its maximum - the row's maximum).

Try: merge (1, 1) with (1, 1).
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
    l_i = tl.max(tl.where(m_part == m_i, l_part, 0.0), axis=0)  # wrong
    tl.store(m_ptr + row, m_i)
    tl.store(l_ptr + row, l_i)
