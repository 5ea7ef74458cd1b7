"""Believed: each tile can be finished by itself: its rows get their maximum and their sum from the columns in hand.

Instead: a row goes on in the next tile. Divided by the sums of each tile alone, a row adds up to the number of tiles it
crosses. Maximum and sum have to be carried along the row from tile to tile.

Try: add up one row of your output. It should be 1; is it the number of tiles?
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

    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        # [BLOCK_M, BLOCK_N]
        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)

        m_i = tl.max(x, axis=1)  # wrong
        p = tl.exp(x - m_i[:, None])
        l_i = tl.sum(p, axis=1)
        tl.store(y_rows + offs_n[None, :], p / l_i[:, None], mask=mask)
