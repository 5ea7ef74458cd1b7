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
    # your code ends here
