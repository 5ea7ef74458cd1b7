"""Loads inside the expressions."""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_N)
    ok = lanes < N
    pointers = x_ptr + row * stride_xm + lanes
    top = tl.max(tl.load(pointers, mask=ok, other=float("-inf")).to(tl.float32), axis=0)
    e = tl.exp(tl.load(pointers, mask=ok, other=float("-inf")).to(tl.float32) - top)
    tl.store(y_ptr + row * stride_ym + lanes, e / tl.sum(e, axis=0), mask=ok)
