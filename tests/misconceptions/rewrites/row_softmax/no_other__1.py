"""Positional masks."""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK_N)
    a = tl.load(x_ptr + i * stride_xm + j, j < N).to(tl.float32)
    b = tl.exp(a - tl.max(a, 0))
    c = tl.sum(b, 0)
    tl.store(y_ptr + i * stride_ym + j, b / c, j < N)
