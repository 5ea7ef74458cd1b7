"""Correct. exp2 with log2(e), the weights switched off where a part is empty."""

import triton
import triton.language as tl


@triton.jit
def merge_softmax_stats_kernel(m_part_ptr, l_part_ptr, m_ptr, l_ptr, stride_pm, SPLITS, BLOCK_S: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK_S)
    tops = tl.load(m_part_ptr + row * stride_pm + lanes, mask=lanes < SPLITS, other=float("-inf"))
    totals = tl.load(l_part_ptr + row * stride_pm + lanes, mask=lanes < SPLITS, other=0.0)
    top = tl.max(tops, axis=0)
    weights = tl.where(tops > float("-inf"), tl.exp2((tops - top) * 1.4426950408889634), 0.0)
    tl.store(m_ptr + row, top)
    tl.store(l_ptr + row, tl.sum(totals * weights, axis=0))
