"""Believed: the first chunk starts from nothing new, so storing begins with the second.

Instead: nobody else writes start[0], and memory that was never written holds anything. It has to become x0.
"""

import triton
import triton.language as tl

GATE = ("values", "memory")


@triton.jit
def linear_state_prefix_kernel(
    x_ptr,
    x0_ptr,
    start_ptr,
    end_ptr,
    N_CHUNKS,
    SIZE,
    BLOCK_SIZE: tl.constexpr,
):
    group = tl.program_id(1).to(tl.int64)
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < SIZE
    state = tl.load(x0_ptr + group * SIZE + offs, mask=mask, other=0.0)
    for chunk in range(N_CHUNKS):
        row = (group * N_CHUNKS + chunk) * SIZE + offs
        tl.store(start_ptr + row, state, mask=mask & (chunk > 0))  # wrong
        state += tl.load(x_ptr + row, mask=mask, other=0.0)
    tl.store(end_ptr + group * SIZE + offs, state, mask=mask)
