"""Other names, mask written out each time."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    lanes = tl.arange(0, BLOCK_N)
    first = tl.load(x_ptr + lanes, mask=lanes < N, other=0.0)
    second = tl.load(y_ptr + lanes, mask=lanes < N, other=0.0)
    tl.store(z_ptr + lanes, second + first, mask=lanes < N)
