"""Believed: row r of the parts begins r times SPLITS elements after the first.

Instead: that holds only where rows are packed without a gap. The stride says how far apart they begin; the number of
parts only says how many of them count.

Try: compare the stride in the launch with the number of parts.
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
    m_part = tl.load(m_part_ptr + row * SPLITS + offs_s, mask=mask, other=float("-inf"))
    # [BLOCK_S]
    l_part = tl.load(l_part_ptr + row * SPLITS + offs_s, mask=mask, other=0.0)  # wrong
    m_i = tl.max(m_part, axis=0)
    m_safe = tl.where(m_i == float("-inf"), 0.0, m_i)
    l_i = tl.sum(l_part * tl.exp(m_part - m_safe), axis=0)
    tl.store(m_ptr + row, m_i)
    tl.store(l_ptr + row, l_i)
