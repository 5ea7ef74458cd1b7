"""Correct. Eight chunks at a time with tl.cumsum, less the chunk itself, and a carry between tiles."""

import triton
import triton.language as tl

CHUNKS: tl.constexpr = tl.constexpr(8)


@triton.jit
def linear_state_prefix_kernel(x_ptr, x0_ptr, start_ptr, end_ptr, N_CHUNKS, SIZE, BLOCK_SIZE: tl.constexpr):
    g = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    carry = tl.load(x0_ptr + g * SIZE + n, mask=n < SIZE, other=0.0)
    for first in range(0, N_CHUNKS, CHUNKS):
        c = first + tl.arange(0, CHUNKS)
        ok = (c < N_CHUNKS)[:, None] & (n < SIZE)[None, :]
        at = (g * N_CHUNKS + c[:, None]) * SIZE + n[None, :]
        x = tl.load(x_ptr + at, mask=ok, other=0.0)
        tl.store(start_ptr + at, carry[None, :] + tl.cumsum(x, axis=0) - x, mask=ok)
        carry += tl.sum(x, axis=0)
    tl.store(end_ptr + g * SIZE + n, carry, mask=n < SIZE)
