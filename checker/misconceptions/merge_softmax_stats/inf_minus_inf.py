"""Believed: empty parts need no special care: their exponential is 0, and 0 adds nothing.

Instead: that is so while the row has a finite maximum. If every part is empty or masked, the row's maximum is -inf too,
and -inf minus -inf is NaN. Where there is nothing finite in the row, subtract any finite number instead: every factor
is then exp(-inf) = 0 and the sum is 0, as it should be.

Try: merge (-inf, 0) with (-inf, 0).
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
    l_i = tl.sum(l_part * tl.exp(m_part - m_i), axis=0)  # wrong
    tl.store(m_ptr + row, m_i)
    tl.store(l_ptr + row, l_i)
