"""Believed: a running sum starts at 0.

Instead: here something was there before the first chunk: x0, the state that an earlier piece of the text left behind.
The sum starts from it.
"""

import triton
import triton.language as tl

GATE = "values"


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
    state = tl.zeros([BLOCK_SIZE], tl.float32)  # wrong
    for chunk in range(N_CHUNKS):
        row = (group * N_CHUNKS + chunk) * SIZE + offs
        tl.store(start_ptr + row, state, mask=mask)
        state += tl.load(x_ptr + row, mask=mask, other=0.0)
    tl.store(end_ptr + group * SIZE + offs, state, mask=mask)
