"""Softmax, backward: one program per row, from the softmax itself and the gradient of the loss."""

import triton
import triton.language as tl


@triton.jit
def softmax_backward_kernel(
    y_ptr,  # [M, N] softmax of each row of some x, made in the forward pass
    dy_ptr,  # [M, N] gradient of the loss with respect to y
    dx_ptr,  # [M, N] output: gradient of the loss with respect to x
    stride_ym,  # elements from one row of y to the next
    stride_dym,  # elements from one row of dy to the next
    stride_dxm,  # elements from one row of dx to the next
    N,  # columns
    BLOCK_N: tl.constexpr,  # a power of two, at least N
):
    """Program `row` reads row `row` of y and of dy once and writes row `row` of dx once."""
    # In PyTorch: dx = y * (dy - (y * dy).sum(dim=1, keepdim=True))
    # your code starts here (about 9 lines)
    # your code ends here
