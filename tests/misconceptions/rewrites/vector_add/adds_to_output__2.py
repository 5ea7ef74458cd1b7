"""Loads the output last."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = at < N
    s = tl.load(x_ptr + at, mask=inside, other=0.0) + tl.load(y_ptr + at, mask=inside, other=0.0)
    old = tl.load(z_ptr + at, mask=inside, other=0.0)
    tl.store(z_ptr + at, s + old, mask=inside)
