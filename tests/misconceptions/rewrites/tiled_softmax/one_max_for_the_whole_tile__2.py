"""The largest of the rows' maxima is spread over all rows."""

import triton
import triton.language as tl


@triton.jit
def tiled_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)

    tops = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    for k in range(0, N, BLOCK_N):
        ok = (rows < M)[:, None] & (k + cols < N)[None, :]
        v = tl.load(x_ptr + rows[:, None] * stride_xm + (k + cols)[None, :], mask=ok, other=float("-inf")).to(
            tl.float32
        )
        flat = tl.max(tl.reshape(v, [BLOCK_M * BLOCK_N]), axis=0)
        higher = tl.maximum(tops, flat)
        total *= tl.exp(tops - tl.maximum(higher, -1.0e38))
        total += tl.sum(tl.exp(v - tl.maximum(higher, -1.0e38)[:, None]), 1)
        tops = higher

    for k in range(0, N, BLOCK_N):
        ok = (rows < M)[:, None] & (k + cols < N)[None, :]
        v = tl.load(x_ptr + rows[:, None] * stride_xm + (k + cols)[None, :], mask=ok, other=float("-inf")).to(
            tl.float32
        )
        tl.store(
            y_ptr + rows[:, None] * stride_ym + (k + cols)[None, :], tl.exp(v - tops[:, None]) / total[:, None], mask=ok
        )
