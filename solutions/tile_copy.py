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
    pid = tl.program_id(0)
    offs_m = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    # [BLOCK_M, 1], with 64 bits: row times stride may pass 2³¹
    rows = offs_m.to(tl.int64)[:, None]
    # [BLOCK_M, BLOCK_N]
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    x = tl.load(x_ptr + rows * stride_xm + offs_n[None, :], mask=mask, other=0.0)
    # [BLOCK_M, BLOCK_N]
    tl.store(y_ptr + rows * stride_ym + offs_n[None, :], x, mask=mask)
    # your code ends here
