"""The weights first, by another name."""

import triton
import triton.language as tl


@triton.jit
def merge_softmax_stats_kernel(m_part_ptr, l_part_ptr, m_ptr, l_ptr, stride_pm, SPLITS, BLOCK_S: tl.constexpr):
    row = tl.program_id(0)
    s = tl.arange(0, BLOCK_S)
    tops = tl.load(m_part_ptr + row * stride_pm + s, mask=s < SPLITS, other=float("-inf"))
    top = tl.max(tops, 0)
    weights = tl.exp(tops - top)
    sums = tl.load(l_part_ptr + row * stride_pm + s, mask=s < SPLITS, other=0.0)
    tl.store(l_ptr + row, tl.sum(sums * weights, 0))
    tl.store(m_ptr + row, top)
