"""Through the logarithm of each chunk's sum, chunks from right to left."""

import triton
import triton.language as tl


@triton.jit
def chunked_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK_N)
    chunks = tl.cdiv(N, BLOCK_N)
    for i in range(chunks):
        cols = (chunks - 1 - i) * BLOCK_N + lanes
        ok = cols < N
        v = tl.load(x_ptr + r * stride_xm + cols, mask=ok, other=float("-inf")).to(tl.float32)
        d = v - tl.max(v, axis=0)
        tl.store(y_ptr + r * stride_ym + cols, tl.exp(d - tl.log(tl.sum(tl.exp(d), axis=0))), mask=ok)
