"""An accumulator that starts in memory."""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    i = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    m = i < N
    acc = tl.load(z_ptr + i, mask=m, other=0.0)
    acc += tl.load(x_ptr + i, mask=m, other=0.0)
    acc += tl.load(y_ptr + i, mask=m, other=0.0)
    tl.store(z_ptr + i, acc, mask=m)
