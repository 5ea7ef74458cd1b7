"""Correct. x0 takes part in the scan, and each sum is stored one chunk further on."""

import triton
import triton.language as tl

CHUNKS: tl.constexpr = tl.constexpr(4)


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def linear_state_prefix_kernel(x_ptr, x0_ptr, start_ptr, end_ptr, N_CHUNKS, SIZE, BLOCK_SIZE: tl.constexpr):
    g = tl.program_id(1).to(tl.int64)
    n = (tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE))[None, :]
    i = tl.arange(0, CHUNKS)[:, None]
    ok = n < SIZE
    total = tl.load(x0_ptr + g * SIZE + n, mask=ok, other=0.0)
    tl.store(start_ptr + g * N_CHUNKS * SIZE + n, total, mask=ok)
    for first in range(0, N_CHUNKS, CHUNKS):
        at = (g * N_CHUNKS + first + i) * SIZE + n
        x = tl.load(x_ptr + at, mask=ok & (first + i < N_CHUNKS), other=0.0)
        sums = tl.associative_scan(tl.where(i == 0, total + x, x), 0, add)
        tl.store(start_ptr + at + SIZE, sums, mask=ok & (first + i + 1 < N_CHUNKS))
        total = tl.sum(tl.where(i == CHUNKS - 1, sums, 0.0), axis=0)[None, :]
    tl.store(end_ptr + g * SIZE + n, total, mask=ok)
