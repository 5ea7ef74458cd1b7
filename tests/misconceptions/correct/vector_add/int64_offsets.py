"""Correct. 64-bit offsets, positional arguments."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * BLOCK_N
    lane = tl.arange(0, BLOCK_N).to(tl.int64)
    mask = start + lane < N
    a = tl.load(x_ptr + start + lane, mask, 0.0)
    b = tl.load(y_ptr + start + lane, mask, 0.0)
    tl.store(z_ptr + start + lane, a + b, mask)
