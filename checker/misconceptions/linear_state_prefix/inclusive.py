"""Believed: a chunk starts from the sum up to and with what it adds itself.

Instead: a chunk's own tokens are added inside the chunk, by the kernel that comes next. Here they would be counted
twice: a chunk starts from the ones before it, so store the sum first and add afterwards.
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
    for chunk in range(N_CHUNKS):
        row = (group * N_CHUNKS + chunk) * SIZE + offs
        state += tl.load(x_ptr + row, mask=mask, other=0.0)  # wrong
        tl.store(start_ptr + row, state, mask=mask)  # wrong
    tl.store(end_ptr + group * SIZE + offs, state, mask=mask)
