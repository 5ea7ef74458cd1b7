"""Believed: -inf needs no special care: its exponential is 0, and that is all that is ever asked of it.

Instead: its exponential is 0, but -inf minus -inf is NaN. If a row's part of the first tile is all -inf, its new
maximum is still -inf; the difference of the maxima and every exponent are NaN, and the row's sum never recovers. Where
nothing finite was seen in a row, subtract any finite number instead: its sum stays 0, as it should.

Try: walk over the row -inf, -inf, 1, 2 in tiles of two columns.
"""

import triton
import triton.language as tl

GATE = "values"


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
        l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new[:, None]), axis=1)  # wrong
        m_i = m_new
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        # [BLOCK_M, BLOCK_N]
        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)
        tl.store(y_rows + offs_n[None, :], tl.exp(x - m_i[:, None]) / l_i[:, None], mask=mask)
