"""Correct. The operator itself, one part at a time."""

import triton
import triton.language as tl


@triton.jit
def merge_softmax_stats_kernel(m_part_ptr, l_part_ptr, m_ptr, l_ptr, stride_pm, SPLITS, BLOCK_S: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m = float("-inf")
    l = 0.0
    for s in range(SPLITS):
        m_s = tl.load(m_part_ptr + row * stride_pm + s)
        l_s = tl.load(l_part_ptr + row * stride_pm + s)
        m_new = tl.maximum(m, m_s)
        if m_new > float("-inf"):
            l = l * tl.exp(m - m_new) + l_s * tl.exp(m_s - m_new)
        m = m_new
    tl.store(m_ptr + row, m)
    tl.store(l_ptr + row, l)
