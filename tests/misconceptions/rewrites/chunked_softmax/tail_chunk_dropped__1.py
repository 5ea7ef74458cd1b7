"""Counts whole chunks, index times width."""

import triton
import triton.language as tl


@triton.jit
def chunked_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    r = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    chunks = N // BLOCK_N
    top = float("-inf")
    for i in range(chunks):
        top = tl.maximum(top, tl.max(tl.load(x_ptr + r * stride_xm + i * BLOCK_N + cols).to(tl.float32), 0))
    total = 0.0
    for i in range(chunks):
        total += tl.sum(tl.exp(tl.load(x_ptr + r * stride_xm + i * BLOCK_N + cols).to(tl.float32) - top), 0)
    for i in range(chunks):
        v = tl.load(x_ptr + r * stride_xm + i * BLOCK_N + cols).to(tl.float32)
        tl.store(y_ptr + r * stride_ym + i * BLOCK_N + cols, tl.exp(v - top) / total)
