"""Correct. Pointers that walk, no other= where the mask keeps its lanes out of every store."""

import triton
import triton.language as tl


@triton.jit
def linear_state_prefix_kernel(x_ptr, x0_ptr, start_ptr, end_ptr, N_CHUNKS, SIZE, BLOCK_SIZE: tl.constexpr):
    g = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    ok = n < SIZE
    at = g * N_CHUNKS * SIZE + n
    total = tl.load(x0_ptr + g * SIZE + n, ok)
    left = N_CHUNKS
    while left > 0:
        tl.store(start_ptr + at, total, ok)
        total = tl.load(x_ptr + at, ok) + total
        at += SIZE
        left -= 1
    tl.store(end_ptr + g * SIZE + n, total, ok)
