"""Correct. Two chunks a round: both loads are under way before the first store."""

import triton
import triton.language as tl


@triton.jit
def linear_state_prefix_kernel(x_ptr, x0_ptr, start_ptr, end_ptr, N_CHUNKS, SIZE, BLOCK_SIZE: tl.constexpr):
    g = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    ok = n < SIZE
    total = tl.load(x0_ptr + g * SIZE + n, mask=ok, other=0.0)
    base = g * N_CHUNKS * SIZE + n
    for c in range(0, N_CHUNKS, 2):
        two = c + 1 < N_CHUNKS
        a = tl.load(x_ptr + base + c * SIZE, mask=ok, other=0.0)
        b = tl.load(x_ptr + base + (c + 1) * SIZE, mask=ok & two, other=0.0)
        tl.store(start_ptr + base + c * SIZE, total, mask=ok)
        tl.store(start_ptr + base + (c + 1) * SIZE, total + a, mask=ok & two)
        total += a + b
    tl.store(end_ptr + g * SIZE + n, total, mask=ok)
