"""What a chunk adds is added when the next one comes; after the last there is no next."""

import triton
import triton.language as tl


@triton.jit
def linear_state_prefix_kernel(x_ptr, x0_ptr, start_ptr, end_ptr, N_CHUNKS, SIZE, BLOCK_SIZE: tl.constexpr):
    g = tl.program_id(1)
    n = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    ok = n < SIZE
    total = tl.load(x0_ptr + g * SIZE + n, mask=ok, other=0.0)
    for c in range(N_CHUNKS):
        at = (g * N_CHUNKS + c) * SIZE + n
        total += tl.load(x_ptr + at - SIZE, mask=ok & (c > 0), other=0.0)
        tl.store(start_ptr + at, total, mask=ok)
    tl.store(end_ptr + g * SIZE + n, total, mask=ok)
