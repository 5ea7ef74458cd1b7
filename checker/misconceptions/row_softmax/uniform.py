"""Believed: every element of a row gets the same share.

Instead: the shares follow the numbers: an element that is larger by 1 gets e times the share. Equal shares come out
only when all numbers are equal.
"""

import triton
import triton.language as tl

GATE = "values"


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    y = tl.where(mask, 1.0 / N, 0.0)  # wrong
    tl.store(y_ptr + row * stride_ym + offs_n, y, mask=mask)
