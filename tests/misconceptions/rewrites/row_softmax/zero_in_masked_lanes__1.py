"""Other names, 0 as an integer."""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    r = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    values = tl.load(x_ptr + r * stride_xm + cols, mask=cols < N, other=0).to(tl.float32)
    shifted = values - tl.max(values, 0)
    top = tl.exp(shifted)
    tl.store(y_ptr + r * stride_ym + cols, top / tl.sum(top, 0), mask=cols < N)
