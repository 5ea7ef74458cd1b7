"""Believed: softmax is the exponentials divided by their sum, so the maximum is only a refinement.

Instead: on paper it cancels, in 32 bits it does not. The exponential of 89 is already more than a float32 can hold,
and that of -104 is 0. Subtracting the row's maximum keeps every exponent at or below 0 and at least one of them at 0,
so nothing overflows and the sum is at least 1.

Try: what is the softmax of a row whose numbers are all 200? And what does the kernel compute on its way there?
"""

import triton
import triton.language as tl

GATE = "values"


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf")).to(tl.float32)
    p = tl.exp(x)  # wrong
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
