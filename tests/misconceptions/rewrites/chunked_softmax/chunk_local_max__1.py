"""A helper that does one chunk, called in a while loop."""

import triton
import triton.language as tl


@triton.jit
def soft(v):
    e = tl.exp(v - tl.max(v, 0))
    return e / tl.sum(e, 0)


@triton.jit
def chunked_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    r = tl.program_id(0)
    at = 0
    while at < N:
        cols = at + tl.arange(0, BLOCK_N)
        v = tl.load(x_ptr + r * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + r * stride_ym + cols, soft(v), mask=cols < N)
        at += BLOCK_N
