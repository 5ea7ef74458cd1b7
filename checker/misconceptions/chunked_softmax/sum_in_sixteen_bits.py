"""Believed: the input has 16 bits, so 16 bits are enough for the sum as well.

Instead: a 16-bit number has 8 or 11 significant bits. Once the running sum is much larger than the next chunk's part of
it, adding that part changes nothing, and a long row loses them all. Values may be stored in 16 bits; sums are kept in
float32.

Try: in bfloat16, what is 1 + 0.0035? Add it ten times.
"""

import triton
import triton.language as tl

GATE = "values"
NOISE = 0.02


@triton.jit
def chunked_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * stride_xm
    y_row = y_ptr + row * stride_ym
    m_i = float("-inf")
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        m_i = tl.maximum(m_i, tl.max(x, axis=0))
    l_i = tl.full((), 0.0, x_ptr.dtype.element_ty)
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        l_i = (l_i + tl.sum(tl.exp(x - m_i), axis=0)).to(x_ptr.dtype.element_ty)  # wrong
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)
