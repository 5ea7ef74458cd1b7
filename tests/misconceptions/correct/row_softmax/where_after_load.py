"""Correct. Zeros from the load, sorted out by `tl.where`."""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_N)
    ok = lanes < N
    x = tl.load(x_ptr + row * stride_xm + lanes, mask=ok, other=0.0).to(tl.float32)
    m = tl.max(tl.where(ok, x, float("-inf")), axis=0)
    p = tl.where(ok, tl.exp(x - m), 0.0)
    tl.store(y_ptr + row * stride_ym + lanes, p / tl.sum(p, axis=0), mask=ok)
