"""Believed: the chunked kernel gives the right numbers, so it is the right answer here too.

Instead: the numbers are right, but x is read three times where two are allowed. Maximum and sum can be found in the
same walk if the sum is rescaled whenever the maximum grows, and that is what this rung is about.

Try: compare the bytes of x in the card with what is allowed.
"""

import triton
import triton.language as tl

GATE = "traffic"


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * stride_xm
    y_row = y_ptr + row * stride_ym
    m_i = float("-inf")

    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)

        m_i = tl.maximum(m_i, tl.max(x, axis=0))
    l_i = 0.0

    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)  # wrong

        l_i += tl.sum(tl.exp(x - m_i), axis=0)

    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)

        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)
