"""Other names."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    me = tl.program_id(0)
    at = me + tl.arange(0, BLOCK_N)
    z = tl.load(x_ptr + at, mask=at < N, other=0.0) + tl.load(y_ptr + at, mask=at < N, other=0.0)
    tl.store(z_ptr + at, z, mask=at < N)
