"""Pointers that walk; the addition stands inside the store."""

import triton
import triton.language as tl


@triton.jit
def linear_state_prefix_kernel(x_ptr, x0_ptr, start_ptr, end_ptr, N_CHUNKS, SIZE, BLOCK_SIZE: tl.constexpr):
    n = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    g = tl.program_id(1)
    ok = n < SIZE
    total = tl.load(x0_ptr + g * SIZE + n, mask=ok)
    x_ptrs = x_ptr + g * N_CHUNKS * SIZE + n
    start_ptrs = start_ptr + g * N_CHUNKS * SIZE + n
    for _ in range(N_CHUNKS):
        total = total + tl.load(x_ptrs, mask=ok)
        tl.store(start_ptrs, total, ok)
        x_ptrs += SIZE
        start_ptrs += SIZE
    tl.store(end_ptr + g * SIZE + n, total, ok)
