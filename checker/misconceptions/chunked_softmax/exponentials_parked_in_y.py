"""Believed: the exponentials of the second walk need not be computed again: the output has room for them until the sum is
known.

Instead: it has room, but that room is memory. Writing the exponentials out and reading them back moves the matrix twice
more, which costs far more time than computing an exponential again: the output was to be written once and never read.
With 16-bit outputs it also rounds every value twice.

Try: count the bytes of y in the card: how often is it written, how often read?
"""

import triton
import triton.language as tl

GATE = "traffic"


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
        p = tl.exp(x - m_i)
        l_i += tl.sum(p, axis=0)
        tl.store(y_row + offs_n, p, mask=offs_n < N)  # wrong
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        p = tl.load(y_row + offs_n, mask=offs_n < N, other=0.0).to(tl.float32)
        tl.store(y_row + offs_n, p / l_i, mask=offs_n < N)
