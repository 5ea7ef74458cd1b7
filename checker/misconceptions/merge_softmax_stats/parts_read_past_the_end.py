"""Believed: the tile is as wide as the row of parts.

Instead: the tile's width is a power of two and the number of parts any number at all. Without a mask the last lanes
read the next row's parts, or memory that belongs to no tensor, and merge them into this row.

Try: with 5 parts in a tile of 8 lanes: which parts do the last three lanes read?
"""

import triton
import triton.language as tl

GATE = ("values", "memory")


@triton.jit
def merge_softmax_stats_kernel(m_part_ptr, l_part_ptr, m_ptr, l_ptr, stride_pm, SPLITS, BLOCK_S: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_s = tl.arange(0, BLOCK_S)
    # [BLOCK_S]
    m_part = tl.load(m_part_ptr + row * stride_pm + offs_s)  # wrong
    # [BLOCK_S]
    l_part = tl.load(l_part_ptr + row * stride_pm + offs_s)
    m_i = tl.max(m_part, axis=0)
    m_safe = tl.where(m_i == float("-inf"), 0.0, m_i)
    l_i = tl.sum(l_part * tl.exp(m_part - m_safe), axis=0)
    tl.store(m_ptr + row, m_i)
    tl.store(l_ptr + row, l_i)
