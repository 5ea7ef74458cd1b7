"""The comparison the other way round."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    i = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = i <= N
    b = tl.load(y_ptr + i, mask=inside, other=0)
    a = tl.load(x_ptr + i, mask=inside, other=0)
    tl.store(z_ptr + i, a + b, mask=inside)
