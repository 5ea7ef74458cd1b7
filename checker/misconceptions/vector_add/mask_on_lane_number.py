"""Believed: the mask asks whether the lane's own number is below N.

Instead: a lane's number runs from 0 to the tile's width in every program. What has to be below N is the element that
the lane stands for: its number plus where the program's tile starts. The lane number alone never switches anything
off in the last tile.
"""

import triton
import triton.language as tl

GATE = "memory"


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_N)
    offs_n = pid * BLOCK_N + lanes
    mask = lanes < N  # wrong
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
    y = tl.load(y_ptr + offs_n, mask=mask, other=0.0)
    tl.store(z_ptr + offs_n, x + y, mask=mask)
