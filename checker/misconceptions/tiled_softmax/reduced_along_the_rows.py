"""Believed: axis 0 is the first axis, the one the rows lie along, so the maximum of a row is the maximum along axis 0.

Instead: a reduction along an axis makes that axis disappear. In a tile of rows by columns axis 0 counts the rows:
reducing along it leaves one number for each column of the tile. The columns have to disappear, and they are axis 1;
what stays is one number for each row.

Try: what is the shape of a tile of 4 rows and 16 columns after a maximum along axis 0?
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
    m_i = tl.full([BLOCK_N], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_N], dtype=tl.float32)

    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        # [BLOCK_M, BLOCK_N]
        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)

        m_new = tl.maximum(m_i, tl.max(x, axis=0))  # wrong
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        l_i = l_i * tl.exp(m_i - m_safe) + tl.sum(tl.exp(x - m_safe[None, :]), axis=0)
        m_i = m_new

    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        # [BLOCK_M, BLOCK_N]
        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)

        tl.store(y_rows + offs_n[None, :], tl.exp(x - m_i[None, :]) / l_i[None, :], mask=mask)
