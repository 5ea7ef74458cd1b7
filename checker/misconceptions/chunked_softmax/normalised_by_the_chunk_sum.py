"""Believed: each chunk is divided by the sum of the exponentials in hand when it is written.

Instead: the denominator is the sum over the whole row. Divided by its own sum, a chunk adds up to 1 by itself and the
row adds up to the number of its chunks, although the maximum was the right one.

Try: add up one row of your output.
"""

import triton
import triton.language as tl

GATE = "values"
SAME_AS = ("chunk_local_max",)


@triton.jit
def chunked_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * stride_xm
    y_row = y_ptr + row * stride_ym
    m_i = float("-inf")

    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)

        m_i = tl.maximum(m_i, tl.max(x, axis=0))

    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)

        p = tl.exp(x - m_i)
        tl.store(y_row + offs_n, p / tl.sum(p, axis=0), mask=offs_n < N)  # wrong
