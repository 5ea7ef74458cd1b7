"""Correct. While loops, the last walk from right to left."""

import triton
import triton.language as tl


@triton.jit
def chunked_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK_N)
    top = float("-inf")
    at = 0
    while at < N:
        x = tl.load(x_ptr + row * stride_xm + at + lanes, mask=lanes < N - at, other=float("-inf")).to(tl.float32)
        top = tl.maximum(top, tl.max(x, axis=0))
        at += BLOCK_N
    total = 0.0
    at = 0
    while at < N:
        x = tl.load(x_ptr + row * stride_xm + at + lanes, mask=lanes < N - at, other=float("-inf")).to(tl.float32)
        total += tl.sum(tl.exp(x - top), axis=0)
        at += BLOCK_N
    at = (N - 1) // BLOCK_N * BLOCK_N
    while at >= 0:
        x = tl.load(x_ptr + row * stride_xm + at + lanes, mask=lanes < N - at, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * stride_ym + at + lanes, tl.exp(x - top) / total, mask=lanes < N - at)
        at -= BLOCK_N
