"""A running sum in a while loop that never looks at x0."""

import triton
import triton.language as tl


@triton.jit
def linear_state_prefix_kernel(x_ptr, x0_ptr, start_ptr, end_ptr, N_CHUNKS, SIZE, BLOCK_SIZE: tl.constexpr):
    g = tl.program_id(1)
    n = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    ok = n < SIZE
    total = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    c = 0
    while c < N_CHUNKS:
        at = g * N_CHUNKS * SIZE + c * SIZE + n
        tl.store(start_ptr + at, total, mask=ok)
        total += tl.load(x_ptr + at, mask=ok, other=0.0)
        c += 1
    tl.store(end_ptr + g * SIZE + n, total, mask=ok)
