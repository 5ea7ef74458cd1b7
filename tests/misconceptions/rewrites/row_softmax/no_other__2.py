"""Row pointers first."""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    source = x_ptr + row * stride_xm
    target = y_ptr + row * stride_ym
    cols = tl.arange(0, BLOCK_N)
    valid = cols < N
    x = tl.load(source + cols, mask=valid)
    x = x.to(tl.float32)
    largest = tl.max(x, axis=0)
    numerator = tl.exp(x - largest)
    denominator = tl.sum(numerator, axis=0)
    tl.store(target + cols, numerator / denominator, mask=valid)
