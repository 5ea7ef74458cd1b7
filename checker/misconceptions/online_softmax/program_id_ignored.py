"""Believed: the kernel describes what happens to the matrix; which row is meant takes care of itself.

Instead: the kernel is run once for each row, and every run sees the same pointers. Only the program id tells a program
which row is its own: without it, all of them compute row 0 and the other rows are never written.

Try: choose program 1 in the film and look at which row it loads.
"""

import triton
import triton.language as tl

GATE = ("values", "memory")


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = 0  # wrong
    x_row = x_ptr + row * stride_xm
    y_row = y_ptr + row * stride_ym
    m_i = float("-inf")
    l_i = 0.0
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        l_i = l_i * tl.exp(m_i - m_safe) + tl.sum(tl.exp(x - m_safe), axis=0)
        m_i = m_new
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)
