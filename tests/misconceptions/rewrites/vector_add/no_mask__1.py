"""Other names, loads inside the store."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    start = tl.program_id(axis=0) * BLOCK_N
    lanes = start + tl.arange(0, BLOCK_N)
    tl.store(z_ptr + lanes, tl.load(y_ptr + lanes) + tl.load(x_ptr + lanes))
