"""Merging softmax statistics: several programs each saw a part of a row; put their (m, l) together."""

import triton
import triton.language as tl


@triton.jit
def merge_softmax_stats_kernel(
    m_part_ptr,  # [M, SPLITS] float32 input: maximum of each part, -inf where it is empty
    l_part_ptr,  # [M, SPLITS] float32 input: sum of exp(x - maximum) of each part, 0 where it is empty
    m_ptr,  # [M] float32 output: maximum of the whole row
    l_ptr,  # [M] float32 output: sum of exp(x - m) over the whole row
    stride_pm,  # elements from one row of m_part to the next, and of l_part
    SPLITS,  # parts of a row
    BLOCK_S: tl.constexpr,  # a power of two, at least SPLITS
):
    """Program `row` merges the parts of row `row`. A row of nothing but -inf has m = -inf and l = 0."""
    # In PyTorch:
    #     m = m_part.amax(dim=1)
    #     l = (l_part * torch.exp(m_part - m.unsqueeze(1))).nan_to_num().sum(dim=1)
    # your code starts here (about 11 lines)
    row = tl.program_id(0).to(tl.int64)
    offs_s = tl.arange(0, BLOCK_S)
    mask = offs_s < SPLITS
    # [BLOCK_S]; lanes past SPLITS are empty parts
    m_part = tl.load(m_part_ptr + row * stride_pm + offs_s, mask=mask, other=float("-inf"))
    # [BLOCK_S]
    l_part = tl.load(l_part_ptr + row * stride_pm + offs_s, mask=mask, other=0.0)
    m_i = tl.max(m_part, axis=0)
    # nothing but -inf in the row: any finite number will do, where -inf - -inf would be NaN
    m_safe = tl.where(m_i == float("-inf"), 0.0, m_i)
    l_i = tl.sum(l_part * tl.exp(m_part - m_safe), axis=0)
    tl.store(m_ptr + row, m_i)
    tl.store(l_ptr + row, l_i)
    # your code ends here
