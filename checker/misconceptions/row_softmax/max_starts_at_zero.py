"""Believed: a running maximum starts at 0, as a running sum does.

Instead: 0 is the start of a sum because adding it changes nothing. A maximum that starts at 0 never goes below 0, so
a row of very negative numbers has all its exponentials vanish. What changes nothing for a maximum is minus infinity.

Try: what is the maximum of no numbers at all, if taking one more number into account has to give that number?
"""

import triton
import triton.language as tl

GATE = "values"
SAME_AS = ("zero_lanes_in_max",)


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf")).to(tl.float32)
    m_i = tl.maximum(tl.max(x, axis=0), 0.0)  # wrong
    p = tl.exp(x - m_i)
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
