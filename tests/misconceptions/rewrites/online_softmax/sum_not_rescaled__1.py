"""Other names, the maximum brought up to date first."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    r = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    top = float("-inf")
    total = 0.0
    for k in range(0, N, BLOCK_N):
        v = tl.load(x_ptr + r * stride_xm + k + cols, mask=k + cols < N, other=float("-inf")).to(tl.float32)
        top = tl.maximum(top, tl.max(v, 0))
        base = tl.maximum(top, -1.0e38)
        total += tl.sum(tl.exp(v - base), 0)
    for k in range(0, N, BLOCK_N):
        v = tl.load(x_ptr + r * stride_xm + k + cols, mask=k + cols < N, other=0.0).to(tl.float32)
        tl.store(y_ptr + r * stride_ym + k + cols, tl.exp(v - top) / total, mask=k + cols < N)
