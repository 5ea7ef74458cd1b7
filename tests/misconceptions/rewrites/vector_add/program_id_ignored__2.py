"""Asks for the program id and never uses it."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)  # noqa: F841
    offs = 0 * BLOCK_N + tl.arange(0, BLOCK_N)
    keep = offs < N
    total = tl.load(x_ptr + offs, mask=keep, other=1.0)
    total += tl.load(y_ptr + offs, mask=keep, other=1.0)
    tl.store(z_ptr + offs, total, mask=keep)
