"""Chunked softmax: one program per row, the row walked three times in chunks of BLOCK_N."""

import triton
import triton.language as tl


@triton.jit
def chunked_softmax_kernel(
    x_ptr,  # [M, N] input
    y_ptr,  # [M, N] output: softmax of each row
    stride_xm,  # elements from one row of x to the next
    stride_ym,  # elements from one row of y to the next
    N,  # columns, any number of chunks
    BLOCK_N: tl.constexpr,  # columns in a chunk, a power of two
):
    """Program `row` writes row `row` of y once; it may read row `row` of x three times."""
    # In PyTorch: y = torch.softmax(x, dim=1)
    # your code starts here (about 18 lines)
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * stride_xm
    y_row = y_ptr + row * stride_ym

    # pass 1: the maximum of the whole row
    m_i = float("-inf")
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        m_i = tl.maximum(m_i, tl.max(x, axis=0))

    # pass 2: the sum, every chunk measured against that one maximum
    l_i = 0.0
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        l_i += tl.sum(tl.exp(x - m_i), axis=0)

    # pass 3: the same exponentials again, divided by the sum
    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)
    # your code ends here
