"""Pointers first, operands the other way round."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    block = tl.program_id(0)
    a_ptrs = x_ptr + block * BLOCK_N + tl.arange(0, BLOCK_N)
    b_ptrs = y_ptr + block * BLOCK_N + tl.arange(0, BLOCK_N)
    b = tl.load(b_ptrs)
    a = tl.load(a_ptrs)
    c = a + b
    c_ptrs = z_ptr + block * BLOCK_N + tl.arange(0, BLOCK_N)
    tl.store(c_ptrs, c)
