"""Believed: lanes past the end hold 0 and may be stored.

Instead: the lanes past SIZE are the first numbers of the next chunk, and behind the last one of somebody else's
memory. The store needs the mask as much as the load.
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
        tl.store(start_ptr + row, state)  # wrong
        state += tl.load(x_ptr + row, mask=mask, other=0.0)
    tl.store(end_ptr + group * SIZE + offs, state)  # wrong
