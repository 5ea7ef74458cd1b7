"""Correct. Another tile size: each tile in two halves."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    HALF: tl.constexpr = BLOCK_N // 2
    for half in tl.static_range(2):
        offs = tl.program_id(0) * BLOCK_N + half * HALF + tl.arange(0, HALF)
        mask = offs < N
        y = tl.load(y_ptr + offs, mask=mask, other=3.0)
        x = tl.load(x_ptr + offs, mask=mask, other=4.0)
        tl.store(z_ptr + offs, y + x, mask=mask)
