"""Delta of attention's backward pass: for each query, the dot product of its output with the output's gradient."""

import triton
import triton.language as tl


@triton.jit
def attention_delta_kernel(
    o_ptr,  # [B, H_Q, N_Q, D] output of the forward pass
    do_ptr,  # [B, H_Q, N_Q, D] gradient of the loss with respect to o
    delta_ptr,  # [B, H_Q, N_Q] float32 output: sum of do * o over each row, contiguous
    stride_ob,  # o: elements from one batch to the next
    stride_oh,  # o: from one head to the next
    stride_om,  # o: from one row to the next
    stride_od,  # o: from one number of a row to the next
    stride_dob,  # do: elements from one batch to the next
    stride_doh,  # do: from one head to the next
    stride_dom,  # do: from one row to the next
    stride_dod,  # do: from one number of a row to the next
    H_Q,  # query heads
    N_Q,  # number of queries
    BLOCK_M: tl.constexpr,  # queries per tile
    D: tl.constexpr,  # head dimension: 16, 32, 64 or 128
):
    """Program (i, j) owns query tile i of batch and head j = batch * H_Q + head."""
    # In PyTorch: delta = (o * do).sum(dim=-1)
    # your code starts here (about 16 lines)
    # your code ends here
