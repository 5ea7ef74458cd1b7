"""Correct. Through the logarithm of the sum."""

import triton
import triton.language as tl


@triton.jit
def tiled_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32) + 1.0
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m < M)[:, None] & (offs_n < N)[None, :]
        x = tl.load(x_ptr + offs_m[:, None] * stride_xm + offs_n[None, :], mask=mask, other=float("-inf")).to(
            tl.float32
        )
        m_ij = tl.maximum(m_i, tl.max(x, 1))
        base = tl.maximum(m_ij, -1.0e38)
        alpha = tl.exp(m_i - base)
        l_i = l_i * alpha + tl.sum(tl.exp(x - base[:, None]), 1)
        m_i = m_ij
    log_l = tl.log(l_i)
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m < M)[:, None] & (offs_n < N)[None, :]
        x = tl.load(x_ptr + offs_m[:, None] * stride_xm + offs_n[None, :], mask=mask, other=float("-inf")).to(
            tl.float32
        )
        tl.store(
            y_ptr + offs_m[:, None] * stride_ym + offs_n[None, :], tl.exp(x - m_i[:, None] - log_l[:, None]), mask=mask
        )
