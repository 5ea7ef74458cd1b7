"""The last chunk is handled after the loop, and what it adds is forgotten there."""

import triton
import triton.language as tl


@triton.jit
def linear_state_prefix_kernel(x_ptr, x0_ptr, start_ptr, end_ptr, N_CHUNKS, SIZE, BLOCK_SIZE: tl.constexpr):
    g = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    ok = n < SIZE
    total = tl.load(x0_ptr + g * SIZE + n, mask=ok, other=0.0)
    base = g * N_CHUNKS * SIZE + n
    for c in range(N_CHUNKS - 1):
        tl.store(start_ptr + base + c * SIZE, total, mask=ok)
        total += tl.load(x_ptr + base + c * SIZE, mask=ok, other=0.0)
    tl.store(start_ptr + base + (N_CHUNKS - 1) * SIZE, total, mask=ok)
    tl.store(end_ptr + g * SIZE + n, total, mask=ok)
