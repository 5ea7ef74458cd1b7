"""Counts what is left, one too many."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    lane = tl.arange(0, BLOCK_N)
    left = N - pid * BLOCK_N
    ok = lane < left + 1
    where = pid * BLOCK_N + lane
    tl.store(
        z_ptr + where, tl.load(x_ptr + where, mask=ok, other=0.0) + tl.load(y_ptr + where, mask=ok, other=0.0), mask=ok
    )
