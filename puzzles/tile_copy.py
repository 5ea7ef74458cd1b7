"""A tile with two sides: copy a matrix, BLOCK_M rows per program."""

import triton
import triton.language as tl


@triton.jit
def tile_copy_kernel(
    x_ptr,  # [M, N] input
    y_ptr,  # [M, N] output: the same numbers
    stride_xm,  # elements from one row of x to the next
    stride_ym,  # elements from one row of y to the next
    M,  # rows
    N,  # columns
    BLOCK_M: tl.constexpr,  # rows in a tile, a power of two
    BLOCK_N: tl.constexpr,  # columns in a tile, a power of two, at least N
):
    """Program `pid` copies rows pid * BLOCK_M up to BLOCK_M of them, and none past M."""
    # In PyTorch: y = x.clone()
    # your code starts here (about 8 lines)
    # your code ends here
