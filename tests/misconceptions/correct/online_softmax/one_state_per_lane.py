"""Correct. Each lane runs its own recurrence; the lanes are merged once, at the end."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    tops = tl.full([BLOCK_N], float("-inf"), dtype=tl.float32)
    totals = tl.zeros([BLOCK_N], dtype=tl.float32)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(tops, x)
        base = tl.where(higher == float("-inf"), 0.0, higher)
        totals = totals * tl.exp(tops - base) + tl.exp(x - base)
        tops = higher
    top = tl.max(tops, axis=0)
    total = tl.sum(totals * tl.exp(tops - top), axis=0)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + row * stride_ym + cols, tl.exp(x - top) / total, mask=cols < N)
