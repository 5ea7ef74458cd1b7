"""Believed: program number p begins at row p and takes the next BLOCK_M rows.

Instead: then neighbouring programs share all rows but one: they write the same elements at the same time, and the last
rows are never reached. Program number p begins at row p times BLOCK_M.

Try: write down the rows of programs 0, 1 and 2.
"""

import triton
import triton.language as tl

GATE = ("values", "memory")


@triton.jit
def tiled_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    offs_m = pid + tl.arange(0, BLOCK_M)  # wrong
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
        m_i = m_new
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        # [BLOCK_M, BLOCK_N]
        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)
        tl.store(y_rows + offs_n[None, :], tl.exp(x - m_i[:, None]) / l_i[:, None], mask=mask)
