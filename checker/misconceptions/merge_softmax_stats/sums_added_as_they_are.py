"""Believed: the sum of the row is the sum of the parts' sums.

Instead: each part measured its terms against its own maximum, so the sums are in different units. A part whose maximum
lies 2 below the row's counts for exp(-2) of what its sum says. Bring every sum to the maximum of the row first, then
add.

Try: merge (2, 1.368) and (4, 1.368), the halves of 1, 2, 3, 4. The sum should be 1.553.
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
    m_part = tl.load(m_part_ptr + row * stride_pm + offs_s, mask=mask, other=float("-inf"))
    # [BLOCK_S]
    l_part = tl.load(l_part_ptr + row * stride_pm + offs_s, mask=mask, other=0.0)
    m_i = tl.max(m_part, axis=0)
    m_safe = tl.where(m_i == float("-inf"), 0.0, m_i)
    l_i = tl.sum(l_part, axis=0)  # wrong
    tl.store(m_ptr + row, m_i)
    tl.store(l_ptr + row, l_i)
