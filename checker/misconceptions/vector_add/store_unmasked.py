"""Believed: the mask belongs to the loads; once the values are there, storing them is safe.

Instead: every lane of a store writes, also those whose loaded value was only a stand-in. Past the end of the output
they overwrite whatever lies there. A store needs the same mask as the loads before it.
"""

import triton
import triton.language as tl

GATE = "memory"


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    offs_n = pid * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
    y = tl.load(y_ptr + offs_n, mask=mask, other=0.0)
    tl.store(z_ptr + offs_n, x + y)  # wrong
