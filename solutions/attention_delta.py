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
    batch = (tl.program_id(1) // H_Q).to(tl.int64)
    head = (tl.program_id(1) % H_Q).to(tl.int64)
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)
    offs_d = tl.arange(0, D)
    mask_m = offs_m < N_Q
    o_row = o_ptr + batch * stride_ob + head * stride_oh
    do_row = do_ptr + batch * stride_dob + head * stride_doh
    o_ptrs = o_row + offs_m[:, None] * stride_om + offs_d[None, :] * stride_od
    do_ptrs = do_row + offs_m[:, None] * stride_dom + offs_d[None, :] * stride_dod
    # [BLOCK_M, D], in float32 whatever o is
    o = tl.load(o_ptrs, mask=mask_m[:, None], other=0.0).to(tl.float32)
    # [BLOCK_M, D]
    do = tl.load(do_ptrs, mask=mask_m[:, None], other=0.0).to(tl.float32)
    delta = tl.sum(o * do, axis=1)
    # [BLOCK_M]
    tl.store(delta_ptr + (batch * H_Q + head) * N_Q + offs_m, delta, mask=mask_m)
    # your code ends here
