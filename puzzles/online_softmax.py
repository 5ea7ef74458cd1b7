"""Online softmax: one program per row, maximum and sum in one pass, so that the row is read twice and not three times."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(
    x_ptr,  # [M, N] input
    y_ptr,  # [M, N] output: softmax of each row
    stride_xm,  # elements from one row of x to the next
    stride_ym,  # elements from one row of y to the next
    N,  # columns, any number of chunks
    BLOCK_N: tl.constexpr,  # columns in a chunk, a power of two
):
    """Program `row` reads row `row` of x twice, once for (m, l) and once for its softmax, and writes y once."""
    # In PyTorch: y = torch.softmax(x, dim=1)
    # your code starts here (about 16 lines)
    # your code ends here
