"""Correct. A maximum and a sum in every lane of the tile, merged along the rows at the end."""

import triton
import triton.language as tl


@triton.jit
def tiled_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)
    x_ptrs = x_ptr + rows.to(tl.int64)[:, None] * stride_xm + cols[None, :]
    y_ptrs = y_ptr + rows.to(tl.int64)[:, None] * stride_ym + cols[None, :]
    tops = tl.full([BLOCK_M, BLOCK_N], float("-inf"), dtype=tl.float32)
    totals = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for i in range(tl.cdiv(N, BLOCK_N)):
        inside = (rows[:, None] < M) & (cols[None, :] < N - i * BLOCK_N)
        x = tl.load(x_ptrs + i * BLOCK_N, mask=inside, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(tops, x)
        base = tl.where(higher > float("-inf"), higher, 0.0)
        totals = totals * tl.exp(tops - base) + tl.exp(x - base)
        tops = higher
    top = tl.max(tops, axis=1)[:, None]
    total = tl.sum(totals * tl.exp(tops - tl.maximum(top, -1.0e38)), axis=1)[:, None]
    for i in range(tl.cdiv(N, BLOCK_N)):
        inside = (rows[:, None] < M) & (cols[None, :] < N - i * BLOCK_N)
        x = tl.load(x_ptrs + i * BLOCK_N, mask=inside, other=float("-inf")).to(tl.float32)
        tl.store(y_ptrs + i * BLOCK_N, tl.exp(x - top) / total, mask=inside)
