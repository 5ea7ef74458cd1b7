"""Believed: x0 is added to every start, so every round loads it.

Instead: one load before the loop is enough: what was loaded stays in registers. Better still, begin the running sum
with it.
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
    state = tl.zeros([BLOCK_SIZE], tl.float32)  # wrong
    for chunk in range(N_CHUNKS):
        row = (group * N_CHUNKS + chunk) * SIZE + offs
        before = tl.load(x0_ptr + group * SIZE + offs, mask=mask, other=0.0)  # wrong
        tl.store(start_ptr + row, before + state, mask=mask)  # wrong
        state += tl.load(x_ptr + row, mask=mask, other=0.0)
    before = tl.load(x0_ptr + group * SIZE + offs, mask=mask, other=0.0)  # wrong
    tl.store(end_ptr + group * SIZE + offs, before + state, mask=mask)  # wrong
