"""Merging softmax statistics: several programs each saw a part of a row; put their (m, l) together."""

import triton
import triton.language as tl


@triton.jit
def merge_softmax_stats_kernel(
    m_part_ptr,  # [M, SPLITS] input, float32: maximum of each part of each row, -inf where a part is empty or all -inf
    l_part_ptr,  # [M, SPLITS] input, float32: sum of exp(x - that maximum) over the part, 0 where there is nothing to add
    m_ptr,  # [M] output, float32: maximum of the whole row
    l_ptr,  # [M] output, float32: sum of exp(x - m) over the whole row
    stride_pm,  # elements from one row of the parts to the next, in m_part and l_part alike
    SPLITS,  # parts of a row
    BLOCK_S: tl.constexpr,  # a power of two, at least SPLITS
):
    """Program `row` merges the parts of row `row`. A row of nothing but -inf has m = -inf and l = 0."""
    # your code starts here (about 11 lines)
    # your code ends here
