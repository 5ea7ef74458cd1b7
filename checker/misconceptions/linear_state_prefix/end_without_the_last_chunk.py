"""Believed: what the last chunk starts from is the state at the end.

Instead: the last chunk adds its tokens too. The end is one addition further than the last start.
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
    state = tl.load(x0_ptr + group * SIZE + offs, mask=mask, other=0.0)
    end = state  # wrong
    for chunk in range(N_CHUNKS):  # wrong
        row = (group * N_CHUNKS + chunk) * SIZE + offs
        end = state  # wrong
        tl.store(start_ptr + row, state, mask=mask)  # wrong
        state += tl.load(x_ptr + row, mask=mask, other=0.0)
    tl.store(end_ptr + group * SIZE + offs, end, mask=mask)  # wrong
