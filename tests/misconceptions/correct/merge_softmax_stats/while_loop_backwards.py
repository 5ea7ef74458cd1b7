"""Correct. A while loop from the last part to the first."""

import triton
import triton.language as tl


@triton.jit
def merge_softmax_stats_kernel(m_part_ptr, l_part_ptr, m_ptr, l_ptr, stride_pm, SPLITS, BLOCK_S: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m = float("-inf")
    l = 0.0
    s = SPLITS - 1
    while s >= 0:
        m_s = tl.load(m_part_ptr + row * stride_pm + s)
        higher = tl.maximum(m, m_s)
        base = tl.where(higher == float("-inf"), 0.0, higher)
        l = l * tl.exp(m - base) + tl.load(l_part_ptr + row * stride_pm + s) * tl.exp(m_s - base)
        m = higher
        s -= 1
    tl.store(l_ptr + row, l)
    tl.store(m_ptr + row, m)
