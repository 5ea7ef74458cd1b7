"""Correct. The sum starts at 1: the first factor is exp(-inf) = 0, so it does not matter where it starts."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m_i = float("-inf")
    l_i = 1.0
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * stride_xm + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        m_ij = tl.maximum(m_i, tl.max(x, 0))
        m_ij_finite = tl.where(m_ij == float("-inf"), 0.0, m_ij)
        alpha = tl.exp(m_i - m_ij_finite)
        p = tl.exp(x - m_ij_finite)
        l_i = l_i * alpha
        l_i += tl.sum(p, 0)
        m_i = m_ij
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * stride_xm + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + row * stride_ym + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)
