"""Believed: the sum of the exponentials is taken in the loop, so after the loop it is there.

Instead: after the loop the variable holds what the last chunk put there. Each chunk has to add its part to what the
chunks before it left.

Try: look at the sum in the film after each chunk: does it only grow?
"""

import triton
import triton.language as tl

GATE = "values"


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
    l_i = 0.0
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        l_i = tl.sum(tl.exp(x - m_i), axis=0)  # wrong
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)
