"""Believed: -inf needs no special care: its exponential is 0, and that is all that is ever asked of it.

Instead: its exponential is 0, but -inf minus -inf is NaN. If the first chunk holds nothing but -inf, the new maximum is
still -inf; the difference of the maxima and every exponent are NaN, and the sum never recovers. While nothing finite
was seen, subtract any finite number instead: the sum stays 0, as it should.

Try: walk over the row -inf, -inf, 1, 2 in chunks of two.
"""

import triton
import triton.language as tl

GATE = "values"


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * stride_xm
    y_row = y_ptr + row * stride_ym
    m_i = float("-inf")
    l_i = 0.0
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new), axis=0)  # wrong
        m_i = m_new
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)
