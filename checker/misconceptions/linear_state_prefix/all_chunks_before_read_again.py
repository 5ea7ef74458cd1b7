"""Believed: each chunk sums up what all chunks before it added.

Instead: that reads N_CHUNKS² / 2 states. The sum for one chunk is the sum for the chunk before plus one state: keep
it in registers.
"""

import triton
import triton.language as tl

GATE = "traffic"


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
    first = state  # wrong
    for chunk in range(N_CHUNKS):
        row = (group * N_CHUNKS + chunk) * SIZE + offs
        state = first  # wrong
        for earlier in range(chunk):  # wrong
            state += tl.load(x_ptr + (group * N_CHUNKS + earlier) * SIZE + offs, mask=mask, other=0.0)  # wrong
        tl.store(start_ptr + row, state, mask=mask)
        state += tl.load(x_ptr + row, mask=mask, other=0.0)
    tl.store(end_ptr + group * SIZE + offs, state, mask=mask)
