"""Row softmax: one program per row, the whole row in one tile."""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(
    x_ptr,  # [M, N] input
    y_ptr,  # [M, N] output: softmax of each row
    stride_xm,  # elements from one row of x to the next
    stride_ym,  # elements from one row of y to the next
    N,  # columns
    BLOCK_N: tl.constexpr,  # a power of two, at least N
):
    """Program `row` reads row `row` of x once and writes row `row` of y once."""
    # In PyTorch: y = torch.softmax(x, dim=1)
    # your code starts here (about 9 lines)
    row = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    # [BLOCK_N], in float32 whatever x is
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf")).to(tl.float32)
    m_i = tl.max(x, axis=0)
    p = tl.exp(x - m_i)
    l_i = tl.sum(p, axis=0)
    # [BLOCK_N]
    tl.store(y_ptr + row * stride_ym + offs_n, p / l_i, mask=mask)
    # your code ends here
