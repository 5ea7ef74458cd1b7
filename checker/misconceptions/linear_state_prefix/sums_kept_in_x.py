"""Believed: x is no longer needed once a chunk is added, so the sums can be kept there.

Instead: x is an input. Whoever called the kernel may need it again, a backward pass for one, and there is an output
to write to.
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
    state = tl.load(x0_ptr + group * SIZE + offs, mask=mask, other=0.0)
    for chunk in range(N_CHUNKS):
        row = (group * N_CHUNKS + chunk) * SIZE + offs
        tl.store(start_ptr + row, state, mask=mask)
        state += tl.load(x_ptr + row, mask=mask, other=0.0)  # wrong
        tl.store(x_ptr + row, state, mask=mask)  # wrong
    tl.store(end_ptr + group * SIZE + offs, state, mask=mask)
