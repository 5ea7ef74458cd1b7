"""Believed: program 1 starts one element after program 0.

Instead: a program owns a whole tile, so the next program starts a whole tile further on: program 1 at the tile's
width, program 2 at twice that. Starting one element on makes neighbours do the same work again and leaves the end
undone.
"""

import triton
import triton.language as tl

GATE = ("values",)


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    offs_n = pid + tl.arange(0, BLOCK_N)  # wrong
    mask = offs_n < N
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
    y = tl.load(y_ptr + offs_n, mask=mask, other=0.0)
    tl.store(z_ptr + offs_n, x + y, mask=mask)
