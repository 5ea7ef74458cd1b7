"""Correct. Through the logarithm of the sum."""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_N)
    ok = lanes < N
    x = tl.load(x_ptr + row * stride_xm + lanes, mask=ok, other=float("-inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    shifted = x - m
    tl.store(y_ptr + row * stride_ym + lanes, tl.exp(shifted - tl.log(tl.sum(tl.exp(shifted), axis=0))), mask=ok)
