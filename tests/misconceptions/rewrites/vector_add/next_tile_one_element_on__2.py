"""Moves the pointers instead of the indices."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    lanes = tl.arange(0, BLOCK_N)
    x_ptr += tl.program_id(0)
    y_ptr += tl.program_id(0)
    z_ptr += tl.program_id(0)
    mask = lanes + tl.program_id(0) < N
    y = tl.load(y_ptr + lanes, mask=mask, other=0.0)
    x = tl.load(x_ptr + lanes, mask=mask, other=0.0)
    tl.store(z_ptr + lanes, x + y, mask=mask)
