"""Every chunk takes a tile of all chunks and switches off those that come later."""

import triton
import triton.language as tl

CHUNKS: tl.constexpr = tl.constexpr(16)


@triton.jit
def linear_state_prefix_kernel(x_ptr, x0_ptr, start_ptr, end_ptr, N_CHUNKS, SIZE, BLOCK_SIZE: tl.constexpr):
    g = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    ok = n < SIZE
    x0 = tl.load(x0_ptr + g * SIZE + n, mask=ok, other=0.0)
    for c in range(N_CHUNKS + 1):
        total = x0
        for first in range(0, c, CHUNKS):
            rows = first + tl.arange(0, CHUNKS)
            seen = (rows < c)[:, None] & ok[None, :]
            total += tl.sum(
                tl.load(x_ptr + (g * N_CHUNKS + rows[:, None]) * SIZE + n[None, :], mask=seen, other=0.0), axis=0
            )
        tl.store(start_ptr + (g * N_CHUNKS + c) * SIZE + n, total, mask=ok & (c < N_CHUNKS))
        tl.store(end_ptr + g * SIZE + n, total, mask=ok & (c == N_CHUNKS))
