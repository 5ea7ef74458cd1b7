"""Correct. Through the logarithm of the sum."""

import triton
import triton.language as tl


@triton.jit
def chunked_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    top = float("-inf")
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        top = tl.maximum(
            top, tl.max(tl.load(x_ptr + row * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32), 0)
        )
    total = 0.0
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
        total += tl.sum(tl.exp(x - top), 0)
    log_total = tl.log(total)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + row * stride_ym + cols, tl.exp(x - top - log_total), mask=cols < N)
