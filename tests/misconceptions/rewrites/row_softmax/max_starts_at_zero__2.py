"""The maximum of the positive parts."""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    lane = tl.arange(0, BLOCK_N)
    ok = lane < N
    row = tl.load(x_ptr + pid * stride_xm + lane, mask=ok, other=float("-inf")).to(tl.float32)
    e = tl.exp(row - tl.max(tl.where(row > 0.0, row, 0.0), axis=0))
    tl.store(y_ptr + pid * stride_ym + lane, e / tl.sum(e, axis=0), mask=ok)
