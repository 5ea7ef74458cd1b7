"""Correct. With helpers."""

import triton
import triton.language as tl


@triton.jit
def tile(BLOCK_N: tl.constexpr):
    return tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)


@triton.jit
def fetch(ptr, offs, mask):
    return tl.load(ptr + offs, mask=mask, other=0.0).to(tl.float32)


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    offs = tile(BLOCK_N)
    mask = offs < N
    z = fetch(x_ptr, offs, mask) + fetch(y_ptr, offs, mask)
    tl.store(z_ptr + offs, z, mask=mask)
