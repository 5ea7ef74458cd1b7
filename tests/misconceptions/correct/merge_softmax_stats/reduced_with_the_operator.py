"""Correct. tl.reduce with the merge operator."""

import triton
import triton.language as tl


@triton.jit
def merge(m_a, l_a, m_b, l_b):
    m = tl.maximum(m_a, m_b)
    base = tl.where(m == float("-inf"), 0.0, m)
    return m, l_a * tl.exp(m_a - base) + l_b * tl.exp(m_b - base)


@triton.jit
def merge_softmax_stats_kernel(m_part_ptr, l_part_ptr, m_ptr, l_ptr, stride_pm, SPLITS, BLOCK_S: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK_S)
    tops = tl.load(m_part_ptr + row * stride_pm + lanes, mask=lanes < SPLITS, other=float("-inf"))
    totals = tl.load(l_part_ptr + row * stride_pm + lanes, mask=lanes < SPLITS, other=0.0)
    top, total = tl.reduce((tops, totals), 0, merge)
    tl.store(m_ptr + row, top)
    tl.store(l_ptr + row, total)
