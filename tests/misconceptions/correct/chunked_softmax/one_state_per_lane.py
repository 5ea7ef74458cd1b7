"""Correct. Each lane keeps its own maximum and sum; the lanes meet once, after each walk."""

import triton
import triton.language as tl


@triton.jit
def chunked_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * stride_xm + tl.arange(0, BLOCK_N)
    y_row = y_ptr + row * stride_ym + tl.arange(0, BLOCK_N)
    lanes = tl.arange(0, BLOCK_N)
    tops = tl.full([BLOCK_N], float("-inf"), dtype=tl.float32)
    for i in range(tl.cdiv(N, BLOCK_N)):
        left = lanes < N - i * BLOCK_N
        tops = tl.maximum(tops, tl.load(x_row + i * BLOCK_N, mask=left, other=float("-inf")).to(tl.float32))
    top = tl.max(tops, axis=0)
    totals = tl.zeros([BLOCK_N], dtype=tl.float32)
    for i in range(tl.cdiv(N, BLOCK_N)):
        left = lanes < N - i * BLOCK_N
        x = tl.load(x_row + i * BLOCK_N, mask=left, other=0.0).to(tl.float32)
        totals += tl.where(left, tl.exp(x - top), 0.0)
    total = tl.sum(totals, axis=0)
    for i in range(tl.cdiv(N, BLOCK_N)):
        left = lanes < N - i * BLOCK_N
        x = tl.load(x_row + i * BLOCK_N, mask=left, other=0.0).to(tl.float32)
        tl.store(y_row + i * BLOCK_N, tl.exp(x - top) / total, mask=left)
