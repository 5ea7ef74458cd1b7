"""Tiled softmax: one program per BLOCK_M rows, which it walks twice, BLOCK_N columns at a time."""

import triton
import triton.language as tl


@triton.jit
def tiled_softmax_kernel(
    x_ptr,  # [M, N] input
    y_ptr,  # [M, N] output: softmax of each row
    stride_xm,  # elements from one row of x to the next
    stride_ym,  # elements from one row of y to the next
    M,  # rows
    N,  # columns
    BLOCK_M: tl.constexpr,  # rows in a tile, a power of two
    BLOCK_N: tl.constexpr,  # columns in a tile, a power of two
):
    """Program `pid` owns rows pid * BLOCK_M up to BLOCK_M of them, none past M; reads them twice, writes once."""
    # In PyTorch: y = torch.softmax(x, dim=1)
    # your code starts here (about 22 lines)
    pid = tl.program_id(0)
    offs_m = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    # [BLOCK_M, 1]: where each row begins
    x_rows = x_ptr + offs_m.to(tl.int64)[:, None] * stride_xm
    y_rows = y_ptr + offs_m.to(tl.int64)[:, None] * stride_ym

    # pass 1: one running maximum and one running sum for every row of the tile
    m_i = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        # [BLOCK_M, BLOCK_N]
        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=1))
        # nothing but -inf so far in a row: any finite number will do, where -inf - -inf would be NaN
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        l_i = l_i * tl.exp(m_i - m_safe) + tl.sum(tl.exp(x - m_safe[:, None]), axis=1)
        m_i = m_new

    # pass 2: the softmax
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        # [BLOCK_M, BLOCK_N]
        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)
        # rows past M have l_i = 0 and come out NaN here, which is harmless: the mask keeps them from memory
        tl.store(y_rows + offs_n[None, :], tl.exp(x - m_i[:, None]) / l_i[:, None], mask=mask)
    # your code ends here
