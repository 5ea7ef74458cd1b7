"""Believed: a tile fits the vector, so every lane has an element of its own.

Instead: the last tile usually hangs over the end: with 17 elements in tiles of 16, the second program has one element
and 15 lanes with nothing behind them. Those lanes still read and write, in memory that belongs to someone else. A
mask switches them off.

Try: count the lanes of the last program for N = 17 and tiles of 16, and write beside each the element it touches.
"""

import triton
import triton.language as tl

GATE = "memory"


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    offs_n = pid * BLOCK_N + tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + offs_n)  # wrong
    y = tl.load(y_ptr + offs_n)  # wrong
    tl.store(z_ptr + offs_n, x + y)  # wrong
