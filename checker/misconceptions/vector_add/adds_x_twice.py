"""Believed: both loads read the two inputs, whatever pointer they are given.

Instead: each input has its own pointer. Here both operands come from the first input, so the result is twice that one
and the second is never looked at.

Try: change one element of the second input by hand and ask where the kernel would notice.
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
    tl.store(z_ptr + offs_n, x + x, mask=mask)  # wrong
