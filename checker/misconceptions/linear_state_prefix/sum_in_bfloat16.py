"""Believed: bfloat16 has the range of float32, so it can keep the running sum.

Instead: it has the range and 8 bits: a sum 256 times as large as what is added to it stops growing. States stay in
float32.
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
    state = tl.load(x0_ptr + group * SIZE + offs, mask=mask, other=0.0).to(tl.bfloat16)  # wrong
    for chunk in range(N_CHUNKS):
        row = (group * N_CHUNKS + chunk) * SIZE + offs
        tl.store(start_ptr + row, state, mask=mask)
        state += tl.load(x_ptr + row, mask=mask, other=0.0).to(tl.bfloat16)  # wrong
    tl.store(end_ptr + group * SIZE + offs, state, mask=mask)
