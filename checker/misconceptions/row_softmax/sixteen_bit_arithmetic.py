"""Believed: 16 bits are enough inside the kernel, since the outputs are small numbers.

Instead: float16 keeps about three digits, and rounding a number before the exponential turns its absolute error into
a relative one of the result. Load what is there, convert to float32 at once, and round only when storing.
"""

import triton
import triton.language as tl

GATE = "values"
NOISE = 0.02


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf")).to(tl.float16)  # wrong
    m_i = tl.max(x, axis=0)
    p = tl.exp((x - m_i).to(tl.float32)).to(tl.float16)
    l_i = tl.sum(p, axis=0)
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
