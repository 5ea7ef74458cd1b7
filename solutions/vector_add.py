"""Vector addition: the smallest kernel that has everything a kernel has."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(
    x_ptr,  # [N] first input
    y_ptr,  # [N] second input
    z_ptr,  # [N] output: x + y
    N,  # number of elements
    BLOCK_N: tl.constexpr,  # elements per tile, a power of two
):
    """Program `pid` adds elements pid * BLOCK_N, pid * BLOCK_N + 1, ... up to BLOCK_N of them, and none past N."""
    # In PyTorch: z = x + y
    # your code starts here (about 6 lines)
    # in 64 bits, because offsets grow large
    pid = tl.program_id(0).to(tl.int64)
    offs_n = pid * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = offs_n < N
    # [BLOCK_N]
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
    # [BLOCK_N]
    y = tl.load(y_ptr + offs_n, mask=mask, other=0.0)
    tl.store(z_ptr + offs_n, x + y, mask=mask)
    # your code ends here
