"""Believed: only whole tiles count, and what is left over at the end can be left out.

Instead: the grid is rounded up just so that a last, partly filled tile gets its own program. That program has work to
do: its lanes below N, and only those. Leaving it out leaves the last elements of the output unwritten.
"""

import triton
import triton.language as tl

GATE = ("values",)


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    offs_n = pid * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = offs_n < N // BLOCK_N * BLOCK_N  # wrong
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
    y = tl.load(y_ptr + offs_n, mask=mask, other=0.0)
    tl.store(z_ptr + offs_n, x + y, mask=mask)
