"""Tiled softmax: one program per BLOCK_M rows, which it walks twice, BLOCK_N columns at a time."""

import triton
import triton.language as tl


@triton.jit
def tiled_softmax_kernel(
    x_ptr,  # [M, N] input
    y_ptr,  # [M, N] output: softmax of each row
    stride_xm,  # elements from one row of x to the next
    stride_ym,  # elements from one row of y to the next
    M,  # rows
    N,  # columns
    BLOCK_M: tl.constexpr,  # rows in a tile, a power of two
    BLOCK_N: tl.constexpr,  # columns in a tile, a power of two
):
    """Program `pid` owns rows pid * BLOCK_M up to BLOCK_M of them, none past M; reads them twice, writes once."""
    # In PyTorch: y = torch.softmax(x, dim=1)
    # your code starts here (about 22 lines)
    # your code ends here
