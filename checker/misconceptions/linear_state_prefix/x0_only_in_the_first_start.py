"""Believed: what was there before matters to the first chunk, and the chunks add up by themselves from then on.

Instead: every later chunk starts after the earlier text as well. The sum goes on from x0 and never lets go of it.
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
    before = tl.load(x0_ptr + group * SIZE + offs, mask=mask, other=0.0)  # wrong
    state = tl.zeros([BLOCK_SIZE], tl.float32)  # wrong
    for chunk in range(N_CHUNKS):
        row = (group * N_CHUNKS + chunk) * SIZE + offs
        tl.store(start_ptr + row, tl.where(chunk == 0, before, state), mask=mask)  # wrong
        state += tl.load(x_ptr + row, mask=mask, other=0.0)
    tl.store(end_ptr + group * SIZE + offs, state, mask=mask)
