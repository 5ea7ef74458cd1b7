"""The first chunk by itself, the others in a loop."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    r = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    v = tl.load(x_ptr + r * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
    top = tl.max(v, axis=0)
    total = tl.sum(tl.where(v > float("-inf"), tl.exp(v - top), 0.0), axis=0)
    for k in range(BLOCK_N, N, BLOCK_N):
        v = tl.load(x_ptr + r * stride_xm + k + cols, mask=k + cols < N, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(top, tl.max(v, axis=0))
        if top > float("-inf"):
            total = total * tl.exp(higher - top)
        total += tl.sum(tl.exp(v - tl.maximum(higher, -1.0e38)), axis=0)
        top = higher
    for k in range(0, N, BLOCK_N):
        v = tl.load(x_ptr + r * stride_xm + k + cols, mask=k + cols < N, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + r * stride_ym + k + cols, tl.exp(v - top) / total, mask=k + cols < N)
