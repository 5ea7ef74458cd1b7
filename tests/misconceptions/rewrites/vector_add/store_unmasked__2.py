"""Adds up in float32, starting from zeros."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    z = tl.zeros([BLOCK_N], dtype=tl.float32)
    at = pid * BLOCK_N + tl.arange(0, BLOCK_N)
    z += tl.load(x_ptr + at, mask=at < N, other=0.0)
    z += tl.load(y_ptr + at, mask=at < N, other=0.0)
    out = z_ptr + at
    tl.store(out, z)
