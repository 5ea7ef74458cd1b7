"""Other names and order."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    offsets = tl.arange(0, BLOCK_N) + tl.program_id(0) * BLOCK_N
    valid = offsets < N
    b = tl.load(y_ptr + offsets, mask=valid, other=0.0)
    a = tl.load(x_ptr + offsets, mask=valid, other=0.0)
    c = b + a
    tl.store(z_ptr + offsets, c)
