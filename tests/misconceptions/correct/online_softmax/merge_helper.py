"""Correct. Each chunk gives its own (m, l); a helper merges it into the row's."""

import triton
import triton.language as tl


@triton.jit
def finite(m):
    return tl.where(m == float("-inf"), 0.0, m)


@triton.jit
def merge(m_a, l_a, m_b, l_b):
    m = tl.maximum(m_a, m_b)
    return m, l_a * tl.exp(m_a - finite(m)) + l_b * tl.exp(m_b - finite(m))


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m = float("-inf")
    l = 0.0
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
        m_chunk = tl.max(x, axis=0)
        l_chunk = tl.sum(tl.exp(x - finite(m_chunk)), axis=0)
        m, l = merge(m, l, m_chunk, l_chunk)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + row * stride_ym + cols, tl.exp(x - m) / l, mask=cols < N)
