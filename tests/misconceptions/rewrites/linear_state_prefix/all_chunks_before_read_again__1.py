"""A helper that adds up the chunks before one, called for every chunk and for the end."""

import triton
import triton.language as tl


@triton.jit
def before(x_ptr, first, SIZE, count, n, BLOCK_SIZE: tl.constexpr):
    total = tl.zeros([BLOCK_SIZE], tl.float32)
    for c in range(count):
        total += tl.load(x_ptr + (first + c) * SIZE + n, mask=n < SIZE, other=0.0)
    return total


@triton.jit
def linear_state_prefix_kernel(x_ptr, x0_ptr, start_ptr, end_ptr, N_CHUNKS, SIZE, BLOCK_SIZE: tl.constexpr):
    g = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x0 = tl.load(x0_ptr + g * SIZE + n, mask=n < SIZE, other=0.0)
    for c in range(N_CHUNKS):
        start = x0 + before(x_ptr, g * N_CHUNKS, SIZE, c, n, BLOCK_SIZE)
        tl.store(start_ptr + (g * N_CHUNKS + c) * SIZE + n, start, mask=n < SIZE)
    end = x0 + before(x_ptr, g * N_CHUNKS, SIZE, N_CHUNKS, n, BLOCK_SIZE)
    tl.store(end_ptr + g * SIZE + n, end, mask=n < SIZE)
