"""Doubling: y = 2x."""

import triton
import triton.language as tl


@triton.jit
def double_kernel(
    x_ptr,  # [N] input
    y_ptr,  # [N] output: 2x
    N,  # number of elements
    BLOCK_N: tl.constexpr,  # elements per tile, a power of two
):
    """Program `pid` doubles elements pid * BLOCK_N, pid * BLOCK_N + 1, ... up to BLOCK_N of them, and none past N."""
    # your code starts here (about 4 lines)
    offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = offs_n < N
    # [BLOCK_N]
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
    tl.store(y_ptr + offs_n, 2.0 * x, mask=mask)
    # your code ends here
