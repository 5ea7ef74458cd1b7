"""Believed: three walks give the right numbers, so they are the right answer here too.

Instead: the numbers are right, but x is read three times where two are allowed. The maxima and the sums of all rows of
the tile can be found in the same walk if each sum is rescaled whenever its maximum grows.

Try: compare the bytes of x in the card with what is allowed.
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

    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        # [BLOCK_M, BLOCK_N]
        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)

        m_i = tl.maximum(m_i, tl.max(x, axis=1))
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)

    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        # [BLOCK_M, BLOCK_N]
        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)  # wrong

        l_i += tl.sum(tl.exp(x - m_i[:, None]), axis=1)

    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        # [BLOCK_M, BLOCK_N]
        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)

        tl.store(y_rows + offs_n[None, :], tl.exp(x - m_i[:, None]) / l_i[:, None], mask=mask)
