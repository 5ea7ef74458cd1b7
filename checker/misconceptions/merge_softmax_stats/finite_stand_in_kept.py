"""Believed: a very negative number is as good as -inf and makes no NaN, so it can be the maximum of an empty row.

Instead: as a stand-in inside the exponent it is fine, but it must not leave the kernel. The next merge would take -1e30
for a real maximum, and whoever asks whether a row was fully masked compares with -inf. Store the maximum that was
found, -inf.

Try: what does your kernel store for a row whose parts are all empty?
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
    m_i = tl.maximum(tl.max(m_part, axis=0), -1.0e30)  # wrong
    l_i = tl.sum(l_part * tl.exp(m_part - m_i), axis=0)
    tl.store(m_ptr + row, m_i)
    tl.store(l_ptr + row, l_i)
