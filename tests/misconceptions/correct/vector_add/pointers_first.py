"""Correct. Pointers first, the mask counts what is left."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    x_ptrs = x_ptr + pid * BLOCK_N + tl.arange(0, BLOCK_N)
    y_ptrs = y_ptr + pid * BLOCK_N + tl.arange(0, BLOCK_N)
    z_ptrs = z_ptr + pid * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = tl.arange(0, BLOCK_N) < N - pid * BLOCK_N
    tl.store(z_ptrs, tl.load(x_ptrs, mask=inside, other=0.0) + tl.load(y_ptrs, mask=inside, other=0.0), mask=inside)
