"""Believed: the result may go where the first operand was, as in x += y.

Instead: whoever called the kernel still needs its inputs, and looks for the answer in the output. Storing into an
input destroys one and leaves the other as it was.
"""

import triton
import triton.language as tl

GATE = ("values",)


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    offs_n = pid * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
    y = tl.load(y_ptr + offs_n, mask=mask, other=0.0)
    tl.store(x_ptr + offs_n, x + y, mask=mask)  # wrong
