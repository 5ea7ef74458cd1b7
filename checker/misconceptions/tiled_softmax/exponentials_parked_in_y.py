"""Believed: the exponentials of the first walk need not be computed again: the output has room for them until the sums are
known, and they can be mended there.

Instead: it has room, but that room is memory. Writing the exponentials out and reading them back moves the matrix twice
more than allowed, which costs far more time than computing an exponential again. The output is written once and never
read.

Try: count the bytes of y in the card: how often is it written, how often read?
"""

import triton
import triton.language as tl

GATE = "traffic"


@triton.jit
def tiled_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    offs_m = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    # [BLOCK_M, 1]
    x_rows = x_ptr + offs_m.to(tl.int64)[:, None] * stride_xm
    y_rows = y_ptr + offs_m.to(tl.int64)[:, None] * stride_ym
    m_i = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        # [BLOCK_M, BLOCK_N]
        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=1))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        l_i = l_i * tl.exp(m_i - m_safe) + tl.sum(tl.exp(x - m_safe[:, None]), axis=1)
        tl.store(y_rows + offs_n[None, :], tl.exp(x - m_safe[:, None]), mask=mask)  # wrong
        m_i = m_new
    m_run = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        # [BLOCK_M, BLOCK_N]
        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)
        m_run = tl.maximum(m_run, tl.max(x, axis=1))
        p = tl.load(y_rows + offs_n[None, :], mask=mask, other=0.0).to(tl.float32)
        tl.store(y_rows + offs_n[None, :], p * (tl.exp(m_run - m_i) / l_i)[:, None], mask=mask)
