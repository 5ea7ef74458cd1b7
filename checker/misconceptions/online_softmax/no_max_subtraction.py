"""Believed: softmax is exp(x) over the sum of exp(x); subtracting the maximum is a nicety that cancels anyway.

Instead: it cancels on paper. In float32 exp(89) is infinite and exp(-104) is 0, so a row around 200 gives inf / inf and
a row around -300 gives 0 / 0, both NaN. With the maximum subtracted no exponent is above 0, and the largest term is 1.

Try: what is exp(200) in float32?
"""

import triton
import triton.language as tl

GATE = "values"


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * stride_xm
    y_row = y_ptr + row * stride_ym
    l_i = 0.0

    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)

        l_i += tl.sum(tl.exp(x), axis=0)  # wrong

    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)

        tl.store(y_row + offs_n, tl.exp(x) / l_i, mask=offs_n < N)
