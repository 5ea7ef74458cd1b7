"""The textbook recurrence, word for word."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    r = tl.program_id(0)
    m = float("-inf")
    d = 0.0
    for k in range(0, N, BLOCK_N):
        cols = k + tl.arange(0, BLOCK_N)
        v = tl.load(x_ptr + r * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
        m_next = tl.maximum(m, tl.max(v, 0))
        d *= tl.exp(m - m_next)
        d += tl.sum(tl.exp(v - m_next), 0)
        m = m_next
    for k in range(0, N, BLOCK_N):
        cols = k + tl.arange(0, BLOCK_N)
        v = tl.load(x_ptr + r * stride_xm + cols, mask=cols < N, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + r * stride_ym + cols, tl.exp(v - m) / d, mask=cols < N)
