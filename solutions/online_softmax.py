"""Online softmax: one program per row, maximum and sum in one pass, so that the row is read twice and not three times."""

import triton
import triton.language as tl


@triton.jit
def online_softmax_kernel(
    x_ptr,  # [M, N] input
    y_ptr,  # [M, N] output: softmax of each row
    stride_xm,  # elements from one row of x to the next
    stride_ym,  # elements from one row of y to the next
    N,  # columns, any number of chunks
    BLOCK_N: tl.constexpr,  # columns in a chunk, a power of two
):
    """Program `row` reads row `row` of x twice, once for (m, l) and once for its softmax, and writes y once."""
    # In PyTorch: y = torch.softmax(x, dim=1)
    # your code starts here (about 16 lines)
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * stride_xm
    y_row = y_ptr + row * stride_ym

    # pass 1: m_i is the maximum so far, l_i the sum of exp(x - m_i) so far
    m_i = float("-inf")
    l_i = 0.0
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        # nothing but -inf so far: any finite number will do, where -inf - -inf would be NaN
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        l_i = l_i * tl.exp(m_i - m_safe) + tl.sum(tl.exp(x - m_safe), axis=0)
        m_i = m_new

    # pass 2: the softmax
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)
    # your code ends here
