"""Believed: what lanes past the end load does not matter, because it is never stored.

Instead: the load itself reaches past the last number: on a GPU it brings whatever lies there, or ends the launch.
Mask loads as well.
"""

import triton
import triton.language as tl

GATE = "memory"


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
    state = tl.load(x0_ptr + group * SIZE + offs)  # wrong
    for chunk in range(N_CHUNKS):
        row = (group * N_CHUNKS + chunk) * SIZE + offs
        tl.store(start_ptr + row, state, mask=mask)
        state += tl.load(x_ptr + row)  # wrong
    tl.store(end_ptr + group * SIZE + offs, state, mask=mask)
