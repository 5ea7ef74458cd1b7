"""exp2, and lanes past the parts that are switched off in the sum."""

import triton
import triton.language as tl


@triton.jit
def merge_softmax_stats_kernel(m_part_ptr, l_part_ptr, m_ptr, l_ptr, stride_pm, SPLITS, BLOCK_S: tl.constexpr):
    row = tl.program_id(0)
    s = tl.arange(0, BLOCK_S)
    ok = s < SPLITS
    tops = tl.load(m_part_ptr + row * stride_pm + s, mask=ok, other=float("-inf"))
    sums = tl.load(l_part_ptr + row * stride_pm + s, mask=ok, other=0.0)
    top = tl.max(tops, axis=0)
    terms = sums * tl.exp2((tops - top) * 1.4426950408889634)
    tl.store(m_ptr + row, top)
    tl.store(l_ptr + row, tl.sum(tl.where(ok, terms, 0.0), axis=0))
