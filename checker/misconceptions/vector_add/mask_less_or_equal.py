"""Believed: the last element has index N, so an index up to and including N is fine.

Instead: indices start at 0, so N elements end at index N - 1. Index N is the first one that is not yours: one lane of
the last tile reads and writes just past the end.
"""

import triton
import triton.language as tl

GATE = "memory"


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    offs_n = pid * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = offs_n <= N  # wrong
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
    y = tl.load(y_ptr + offs_n, mask=mask, other=0.0)
    tl.store(z_ptr + offs_n, x + y, mask=mask)
