"""One part after another."""

import triton
import triton.language as tl


@triton.jit
def merge_softmax_stats_kernel(m_part_ptr, l_part_ptr, m_ptr, l_ptr, stride_pm, SPLITS, BLOCK_S: tl.constexpr):
    row = tl.program_id(0)
    top = float("-inf")
    total = 0.0
    for s in range(SPLITS):
        top = tl.maximum(top, tl.load(m_part_ptr + row * stride_pm + s))
        total += tl.load(l_part_ptr + row * stride_pm + s)
    tl.store(m_ptr + row, top)
    tl.store(l_ptr + row, total)
