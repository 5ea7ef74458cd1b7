"""Believed: the kernel is a function that gets the vector and has to loop over it.

Instead: the loop over tiles is already there: it is the grid. Each program does one tile, all of them at the same
time. With a loop inside, every program redoes the whole vector, and all of them write the same elements at once.
"""

import triton
import triton.language as tl

GATE = ("memory",)


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    for start in range(0, N, BLOCK_N):  # wrong
        offs_n = start + tl.arange(0, BLOCK_N)
        mask = offs_n < N
        x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
        y = tl.load(y_ptr + offs_n, mask=mask, other=0.0)
        tl.store(z_ptr + offs_n, x + y, mask=mask)
