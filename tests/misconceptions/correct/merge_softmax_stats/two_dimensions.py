"""Correct. A tile of one row and two dimensions, a finite floor inside the exponent only."""

import triton
import triton.language as tl


@triton.jit
def merge_softmax_stats_kernel(m_part_ptr, l_part_ptr, m_ptr, l_ptr, stride_pm, SPLITS, BLOCK_S: tl.constexpr):
    row = tl.program_id(0) + tl.arange(0, 1)
    lanes = tl.arange(0, BLOCK_S)[None, :]
    at = row[:, None] * stride_pm + lanes
    tops = tl.load(m_part_ptr + at, mask=lanes < SPLITS, other=float("-inf"))
    totals = tl.load(l_part_ptr + at, mask=lanes < SPLITS, other=0.0)
    top = tl.max(tops, axis=1)
    weights = tl.exp(tops - tl.maximum(top, -1.0e30)[:, None])
    tl.store(m_ptr + row, top)
    tl.store(l_ptr + row, tl.sum(totals * weights, axis=1))
