"""Three walks with one state for each lane."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    r = tl.program_id(0)
    lanes = tl.arange(0, BLOCK_N)
    tops = tl.full([BLOCK_N], float("-inf"), dtype=tl.float32)
    for k in range(0, N, BLOCK_N):
        tops = tl.maximum(
            tops, tl.load(x_ptr + r * stride_xm + k + lanes, mask=k + lanes < N, other=float("-inf")).to(tl.float32)
        )
    top = tl.max(tops, axis=0)
    sums = tl.zeros([BLOCK_N], dtype=tl.float32)
    for k in range(0, N, BLOCK_N):
        sums += tl.exp(
            tl.load(x_ptr + r * stride_xm + k + lanes, mask=k + lanes < N, other=float("-inf")).to(tl.float32) - top
        )
    total = tl.sum(sums, axis=0)
    for k in range(0, N, BLOCK_N):
        v = tl.load(x_ptr + r * stride_xm + k + lanes, mask=k + lanes < N, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + r * stride_ym + k + lanes, tl.exp(v - top) / total, mask=k + lanes < N)
