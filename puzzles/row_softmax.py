"""Row softmax: one program per row, the whole row in one tile."""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(
    x_ptr,  # [M, N] input
    y_ptr,  # [M, N] output: softmax of each row
    stride_xm,  # elements from one row of x to the next
    stride_ym,  # elements from one row of y to the next
    N,  # columns
    BLOCK_N: tl.constexpr,  # a power of two, at least N
):
    """Program `row` reads row `row` of x once and writes row `row` of y once."""
    # In PyTorch: y = torch.softmax(x, dim=1)
    # your code starts here (about 9 lines)
    # your code ends here
