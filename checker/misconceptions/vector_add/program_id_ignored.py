"""Believed: the kernel runs once, on the first tile, and Triton moves the tile along.

Instead: every program runs the same code, and nothing differs between two of them except what they compute from their
program id. Without it all of them work on the first tile, and the rest of the output is never written.

Try: say aloud which elements program 0 owns, and then which ones program 1 owns.
"""

import triton
import triton.language as tl

GATE = ("values",)


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    offs_n = tl.arange(0, BLOCK_N)  # wrong
    mask = offs_n < N
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
    y = tl.load(y_ptr + offs_n, mask=mask, other=0.0)
    tl.store(z_ptr + offs_n, x + y, mask=mask)
