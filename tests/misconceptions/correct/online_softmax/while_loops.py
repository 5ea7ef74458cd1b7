"""Correct. While loops, the factor computed where it is needed only."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK_N)
    top = float("-inf")
    total = 0.0
    at = 0
    while at < N:
        x = tl.load(x_ptr + row * stride_xm + at + lanes, mask=lanes < N - at, other=float("-inf")).to(tl.float32)
        here = tl.max(x, axis=0)
        if here > top:
            total = total * tl.exp(top - here)
            top = here
        total += tl.sum(tl.where(x > float("-inf"), tl.exp(x - top), 0.0), axis=0)
        at += BLOCK_N
    at = 0
    while at < N:
        x = tl.load(x_ptr + row * stride_xm + at + lanes, mask=lanes < N - at, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + row * stride_ym + at + lanes, tl.exp(x - top) / total, mask=lanes < N - at)
        at += BLOCK_N
