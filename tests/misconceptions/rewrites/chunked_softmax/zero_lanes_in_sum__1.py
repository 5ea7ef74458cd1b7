"""The maximum is careful, the sum is not; a vector of sums."""

import triton
import triton.language as tl


@triton.jit
def chunked_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    r = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    best = tl.full([BLOCK_N], float("-inf"), dtype=tl.float32)
    for k in range(0, N, BLOCK_N):
        v = tl.load(x_ptr + r * stride_xm + k + cols, mask=k + cols < N, other=float("-inf")).to(tl.float32)
        best = tl.maximum(best, v)
    top = tl.max(best, axis=0)
    sums = tl.zeros([BLOCK_N], dtype=tl.float32)
    for k in range(0, N, BLOCK_N):
        v = tl.load(x_ptr + r * stride_xm + k + cols, mask=k + cols < N, other=0).to(tl.float32)
        sums += tl.exp(v - top)
    total = tl.sum(sums, axis=0)
    for k in range(0, N, BLOCK_N):
        v = tl.load(x_ptr + r * stride_xm + k + cols, mask=k + cols < N, other=0).to(tl.float32)
        tl.store(y_ptr + r * stride_ym + k + cols, tl.exp(v - top) / total, mask=k + cols < N)
