"""Believed: loading a tile twice in one turn costs nothing, because it has just been loaded.

Instead: every load is a request to memory, and this kernel may make three for each element. A tile that was loaded has
a name: it stays in registers until the turn is over, and can be used as often as needed.

Try: count the loads of x in one turn of each loop.
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
        finite = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")) > float("-inf")  # wrong
        l_i += tl.sum(tl.where(finite, tl.exp(x - m_i), 0.0), axis=0)
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)
