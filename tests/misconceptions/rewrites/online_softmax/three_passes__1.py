"""Three walks with helpers."""

import triton
import triton.language as tl


@triton.jit
def part(row, k, N, BLOCK_N: tl.constexpr):
    cols = k + tl.arange(0, BLOCK_N)
    return tl.load(row + cols, mask=cols < N, other=float("-inf")).to(tl.float32)


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    r = tl.program_id(0)
    row = x_ptr + r * stride_xm
    top = float("-inf")
    for k in range(0, N, BLOCK_N):
        top = tl.maximum(top, tl.max(part(row, k, N, BLOCK_N), 0))
    total = 0.0
    for k in range(0, N, BLOCK_N):
        total += tl.sum(tl.exp(part(row, k, N, BLOCK_N) - top), 0)
    for k in range(0, N, BLOCK_N):
        cols = k + tl.arange(0, BLOCK_N)
        tl.store(y_ptr + r * stride_ym + cols, tl.exp(part(row, k, N, BLOCK_N) - top) / total, mask=cols < N)
