"""Other names, a tile of two dimensions."""

import triton
import triton.language as tl


@triton.jit
def merge_softmax_stats_kernel(m_part_ptr, l_part_ptr, m_ptr, l_ptr, stride_pm, SPLITS, BLOCK_S: tl.constexpr):
    row = tl.program_id(0) + tl.arange(0, 1)
    s = tl.arange(0, BLOCK_S)[None, :]
    tops = tl.load(m_part_ptr + row[:, None] * stride_pm + s, mask=s < SPLITS, other=float("-inf"))
    sums = tl.load(l_part_ptr + row[:, None] * stride_pm + s, mask=s < SPLITS, other=0.0)
    tl.store(m_ptr + row, tl.max(tops, axis=1))
    tl.store(l_ptr + row, tl.sum(sums, axis=1))
