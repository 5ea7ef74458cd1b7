"""Believed: softmax is exp(x) over the sum of exp(x); subtracting the maximum is a nicety that cancels anyway.

Instead: it cancels on paper. In float32 exp(89) is infinite and exp(-104) is 0, so a row around 200 gives inf / inf and
a row around -300 gives 0 / 0, both NaN. With each row's maximum subtracted no exponent is above 0.

Try: what is exp(200) in float32?
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
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)

    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        # [BLOCK_M, BLOCK_N]
        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)

        l_i += tl.sum(tl.exp(x), axis=1)  # wrong

    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        # [BLOCK_M, BLOCK_N]
        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)

        tl.store(y_rows + offs_n[None, :], tl.exp(x) / l_i[:, None], mask=mask)
