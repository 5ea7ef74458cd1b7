"""The state keeps its second axis, the sum starts at the first tile's."""

import triton
import triton.language as tl


@triton.jit
def tiled_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)

    top = tl.full([BLOCK_M, 1], float("-inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_M, 1], dtype=tl.float32)
    at = 0
    while at < N:
        ok = (rows[:, None] < M) & (cols[None, :] < N - at)
        v = tl.load(x_ptr + rows[:, None] * stride_xm + at + cols[None, :], mask=ok, other=float("-inf")).to(tl.float32)
        top = tl.maximum(top, tl.max(v, axis=1, keep_dims=True))
        base = tl.where(top == float("-inf"), 0.0, top)
        total = tl.sum(tl.exp(v - base), axis=1, keep_dims=True) + total
        at += BLOCK_N
    at = 0
    while at < N:
        ok = (rows[:, None] < M) & (cols[None, :] < N - at)
        v = tl.load(x_ptr + rows[:, None] * stride_xm + at + cols[None, :], mask=ok, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + rows[:, None] * stride_ym + at + cols[None, :], tl.exp(v - top) / total, mask=ok)
        at += BLOCK_N
