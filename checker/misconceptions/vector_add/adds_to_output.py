"""Believed: the output starts as zeros, so the sum can be added to what is there.

Instead: output memory holds whatever was there before: old results, or nothing that is a number at all. A kernel that
owns an element must write it whole, and never read it first.
"""

import triton
import triton.language as tl

GATE = "values"


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    offs_n = pid * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
    y = tl.load(y_ptr + offs_n, mask=mask, other=0.0)
    z = tl.load(z_ptr + offs_n, mask=mask, other=0.0)  # wrong
    tl.store(z_ptr + offs_n, z + x + y, mask=mask)
