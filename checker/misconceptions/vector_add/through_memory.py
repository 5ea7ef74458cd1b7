"""Believed: a partial result has to go to memory before the next step can use it.

Instead: what a program has loaded or computed stays in its registers, at no cost, for as long as it has a name.
Writing the first input to the output and reading it back moves every element twice more, and moving bytes is all that
this kernel spends time on.
"""

import triton
import triton.language as tl

GATE = "traffic"


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    offs_n = pid * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
    tl.store(z_ptr + offs_n, x, mask=mask)
    z = tl.load(z_ptr + offs_n, mask=mask, other=0.0)  # wrong
    y = tl.load(y_ptr + offs_n, mask=mask, other=0.0)
    tl.store(z_ptr + offs_n, z + y, mask=mask)
