"""Believed: the number of chunks is the number of columns divided by the size of a chunk.

Instead: that division rounds down, so when the row does not end with a chunk its last columns belong to no chunk: they
are neither counted nor written, and a row shorter than a chunk is not touched at all. The number of chunks is rounded
up, and the mask takes care of the lanes too many.

Try: how many chunks of 16 does your loop take for 17 columns, and how many for 15?
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
    for start_n in range(0, N // BLOCK_N * BLOCK_N, BLOCK_N):  # wrong
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        l_i = l_i * tl.exp(m_i - m_safe) + tl.sum(tl.exp(x - m_safe), axis=0)
        m_i = m_new
    for start_n in range(0, N // BLOCK_N * BLOCK_N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)
