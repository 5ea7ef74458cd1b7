"""Believed: a long row can be treated as many short ones: each chunk gets its own maximum and its own sum, and the row is
done when all of its chunks are.

Instead: a chunk of a softmax is not the softmax of a chunk. Divided by its own sum, every chunk adds up to 1, so the
row adds up to the number of its chunks. The maximum and the sum have to be those of the whole row, and no chunk knows
them alone.

Try: add up one row of your output. It should be 1; is it the number of chunks?
"""

import triton
import triton.language as tl

GATE = "values"


@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * stride_xm
    y_row = y_ptr + row * stride_ym

    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)

        m_i = tl.max(x, axis=0)  # wrong
        p = tl.exp(x - m_i)
        l_i = tl.sum(p, axis=0)
        tl.store(y_row + offs_n, p / l_i, mask=offs_n < N)
