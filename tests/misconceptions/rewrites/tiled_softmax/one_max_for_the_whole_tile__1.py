"""A scalar maximum for the tile, a vector of sums."""

import triton
import triton.language as tl


@triton.jit
def tiled_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)

    top = float("-inf")
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    for k in range(0, N, BLOCK_N):
        ok = (rows < M)[:, None] & (k + cols < N)[None, :]
        v = tl.load(x_ptr + rows[:, None] * stride_xm + (k + cols)[None, :], mask=ok, other=float("-inf")).to(
            tl.float32
        )
        higher = tl.maximum(top, tl.max(tl.max(v, 1), 0))
        base = tl.where(higher == float("-inf"), 0.0, higher)
        total = total * tl.exp(top - base) + tl.sum(tl.exp(v - base), 1)
        top = higher

    for k in range(0, N, BLOCK_N):
        ok = (rows < M)[:, None] & (k + cols < N)[None, :]
        v = tl.load(x_ptr + rows[:, None] * stride_xm + (k + cols)[None, :], mask=ok, other=float("-inf")).to(
            tl.float32
        )
        tl.store(y_ptr + rows[:, None] * stride_ym + (k + cols)[None, :], tl.exp(v - top) / total[:, None], mask=ok)
