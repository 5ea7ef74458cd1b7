"""Believed: a 16-bit type is precise enough for an addition, and it is faster.

Instead: the inputs were given in 32 bits, and rounding them to 16 keeps about three of their seven digits. It saves
nothing either: the time goes into moving the elements, and they are moved before they are rounded.
"""

import triton
import triton.language as tl

GATE = "values"
NOISE = 0.004


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    offs_n = pid * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0).to(tl.float16)
    y = tl.load(y_ptr + offs_n, mask=mask, other=0.0).to(tl.float16)
    tl.store(z_ptr + offs_n, x + y, mask=mask)  # wrong
