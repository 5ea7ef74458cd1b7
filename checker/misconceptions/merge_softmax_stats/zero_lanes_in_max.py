"""Believed: the lanes past the last part hold nothing, and nothing is 0.

Instead: to a maximum, 0 is a number like any other. A row of negative numbers then gets the maximum 0 whenever the
parts do not fill the tile. The lanes past the last part are empty parts: their maximum is -inf and their sum 0.

Try: what is the maximum of three parts around -5 in a tile of four lanes?
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
    m_part = tl.load(m_part_ptr + row * stride_pm + offs_s, mask=mask, other=0.0)  # wrong
    # [BLOCK_S]
    l_part = tl.load(l_part_ptr + row * stride_pm + offs_s, mask=mask, other=0.0)
    m_i = tl.max(m_part, axis=0)
    m_safe = tl.where(m_i == float("-inf"), 0.0, m_i)
    l_i = tl.sum(l_part * tl.exp(m_part - m_safe), axis=0)
    tl.store(m_ptr + row, m_i)
    tl.store(l_ptr + row, l_i)
