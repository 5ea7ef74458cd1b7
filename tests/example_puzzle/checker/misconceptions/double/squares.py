"""Believed: twice a number is the number times itself.

Instead: that is its square. The two agree at 0 and at 2 only.
"""

import triton
import triton.language as tl

GATE = "values"


@triton.jit
def double_kernel(x_ptr, y_ptr, N, BLOCK_N: tl.constexpr):
    offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
    tl.store(y_ptr + offs_n, x * x, mask=mask)  # wrong
